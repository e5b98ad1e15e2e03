//! Which IP addresses may be contacted when a contract doesn't allow private ones for an origin.
//!
//! The table is this project's own, so that no dependency's idea of "global" can widen it. Sources: IANA's special-purpose
//! address registries for IPv4 and IPv6 (RFC 6890, RFC 8190), the multicast and class E blocks of IANA's IPv4 address space
//! registry, and IANA's IPv6 address space registry, by which only `2000::/3` is global unicast. A few blocks that those
//! registries call globally reachable (AMT and AS112 under `2001::/23`, for one) are refused with their neighbours: they
//! serve protocols that no job provider is reached by.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A block of IPv4 addresses that aren't anybody's public server: network, prefix length, and what it is.
struct Block4(Ipv4Addr, u32, &'static str);

/// The same for IPv6, inside `2000::/3` (nothing outside is public).
struct Block6(Ipv6Addr, u32, &'static str);

const fn v4(a: u8, b: u8, c: u8, d: u8) -> Ipv4Addr {
    Ipv4Addr::new(a, b, c, d)
}

const fn v6(a: u16, b: u16) -> Ipv6Addr {
    Ipv6Addr::new(a, b, 0, 0, 0, 0, 0, 0)
}

const IPV4: &[Block4] = &[
    Block4(v4(0, 0, 0, 0), 8, "this network (RFC 791)"),
    Block4(v4(10, 0, 0, 0), 8, "private use (RFC 1918)"),
    Block4(v4(100, 64, 0, 0), 10, "shared, behind a carrier's NAT (RFC 6598)"),
    Block4(v4(127, 0, 0, 0), 8, "loopback (RFC 1122)"),
    Block4(v4(169, 254, 0, 0), 16, "link-local (RFC 3927)"),
    Block4(v4(172, 16, 0, 0), 12, "private use (RFC 1918)"),
    Block4(v4(192, 0, 0, 0), 24, "IETF protocol assignments (RFC 6890)"),
    Block4(v4(192, 0, 2, 0), 24, "documentation (RFC 5737)"),
    Block4(v4(192, 88, 99, 0), 24, "6to4 relay anycast (RFC 7526)"),
    Block4(v4(192, 168, 0, 0), 16, "private use (RFC 1918)"),
    Block4(v4(198, 18, 0, 0), 15, "benchmarking (RFC 2544)"),
    Block4(v4(198, 51, 100, 0), 24, "documentation (RFC 5737)"),
    Block4(v4(203, 0, 113, 0), 24, "documentation (RFC 5737)"),
    Block4(v4(224, 0, 0, 0), 4, "multicast (RFC 5771)"),
    // The limited broadcast address is its last.
    Block4(v4(240, 0, 0, 0), 4, "reserved (RFC 1112)"),
];

const IPV6: &[Block6] = &[
    // Teredo, benchmarking and ORCHID are parts of it.
    Block6(v6(0x2001, 0), 23, "IETF protocol assignments (RFC 2928)"),
    Block6(v6(0x2001, 0xdb8), 32, "documentation (RFC 3849)"),
    Block6(v6(0x2002, 0), 16, "6to4 (RFC 3056)"),
    Block6(v6(0x3ffe, 0), 16, "returned 6bone block (RFC 3701)"),
    Block6(v6(0x3fff, 0), 20, "documentation (RFC 9637)"),
];

/// Whether `ip` is an address of the public internet. Every other one may be contacted only for an origin for which the
/// contract says `allow_private` (I17).
pub fn is_public(ip: IpAddr) -> bool {
    why_not_public(ip).is_none()
}

/// What `ip` is, in a few words, if it isn't public (see [`is_public`]); `None` if it is.
///
/// An address that stands for an IPv4 one (IPv4-mapped, or under the well-known NAT64 prefix of RFC 6052) is judged by the
/// address it stands for.
pub fn why_not_public(ip: IpAddr) -> Option<&'static str> {
    match ip {
        IpAddr::V4(ip) => why_not_public_v4(ip),
        IpAddr::V6(ip) => why_not_public_v6(ip),
    }
}

fn why_not_public_v4(ip: Ipv4Addr) -> Option<&'static str> {
    IPV4.iter()
        .find(|Block4(network, prefix, _)| {
            let differ = ip.to_bits() ^ network.to_bits();
            differ.leading_zeros() >= *prefix
        })
        .map(|Block4(_, _, what)| *what)
}

fn why_not_public_v6(ip: Ipv6Addr) -> Option<&'static str> {
    match ip.segments() {
        [0, 0, 0, 0, 0, 0xffff, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => {
            let [.., a, b, c, d] = ip.octets();
            return why_not_public_v4(v4(a, b, c, d));
        }
        _ => {}
    }
    if let Some(Block6(_, _, what)) = IPV6.iter().find(|Block6(network, prefix, _)| {
        let differ = ip.to_bits() ^ network.to_bits();
        differ.leading_zeros() >= *prefix
    }) {
        return Some(what);
    }
    match ip.segments() {
        [0x2000..=0x3fff, ..] => None,
        [0, 0, 0, 0, 0, 0, 0, 0] => Some("unspecified (RFC 4291)"),
        [0, 0, 0, 0, 0, 0, 0, 1] => Some("loopback (RFC 4291)"),
        [0x64, 0xff9b, 1, ..] => Some("local NAT64 (RFC 8215)"),
        [0xfc00..=0xfdff, ..] => Some("unique local (RFC 4193)"),
        [0xfe80..=0xfebf, ..] => Some("link-local (RFC 4291)"),
        [0xfec0..=0xfeff, ..] => Some("site-local (RFC 3879)"),
        [0xff00..=0xffff, ..] => Some("multicast (RFC 4291)"),
        // Discard-only 100::/64, SRv6 5f00::/16, IPv4-compatible ::/96, and whatever isn't delegated.
        _ => Some("not global unicast (RFC 4291)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    /// I17: the first and last address of each block, and whatever stands next to it.
    #[test]
    fn i17_the_edges_of_every_block_are_refused() {
        for (first, last) in [
            ("0.0.0.0", "0.255.255.255"),
            ("10.0.0.0", "10.255.255.255"),
            ("100.64.0.0", "100.127.255.255"),
            ("127.0.0.0", "127.255.255.255"),
            ("169.254.0.0", "169.254.255.255"),
            ("172.16.0.0", "172.31.255.255"),
            ("192.0.0.0", "192.0.0.255"),
            ("192.0.2.0", "192.0.2.255"),
            ("192.88.99.0", "192.88.99.255"),
            ("192.168.0.0", "192.168.255.255"),
            ("198.18.0.0", "198.19.255.255"),
            ("198.51.100.0", "198.51.100.255"),
            ("203.0.113.0", "203.0.113.255"),
            ("224.0.0.0", "239.255.255.255"),
            ("240.0.0.0", "255.255.255.255"),
            ("::", "::1"),
            ("64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff"),
            ("100::", "100::ffff:ffff:ffff:ffff"),
            ("2001::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff"),
            ("2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"),
            ("2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
            ("3ffe::", "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
            ("3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff"),
            ("4000::", "5fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
            ("fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
            ("fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
            ("fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
            ("ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ] {
            assert!(!is_public(ip(first)), "{first}");
            assert!(!is_public(ip(last)), "{last}");
        }
        for public in [
            "1.0.0.0",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.0.3.0",
            "192.88.98.255",
            "192.88.100.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "198.51.99.255",
            "198.51.101.0",
            "203.0.112.255",
            "203.0.114.0",
            "223.255.255.255",
            "2000::",
            "2001:200::",
            "2001:db7:ffff::",
            "2001:db9::",
            "2003::",
            "2606:4700::6810:1",
            "3fff:1000::",
        ] {
            assert!(is_public(ip(public)), "{public}");
        }
    }

    #[test]
    fn i17_an_address_that_stands_for_an_ipv4_one_is_judged_by_it() {
        for (embedded, public) in [
            ("8.8.8.8", true),
            ("127.0.0.1", false),
            ("10.1.2.3", false),
            ("169.254.169.254", false),
            ("0.0.0.0", false),
        ] {
            assert_eq!(is_public(ip(&format!("::ffff:{embedded}"))), public);
            assert_eq!(is_public(ip(&format!("64:ff9b::{embedded}"))), public);
            // IPv4-compatible addresses stand for nothing any more.
            assert!(!is_public(ip(&format!("::{embedded}"))));
        }
        // 6to4, Teredo and the local NAT64 prefix are refused, whatever is inside.
        assert!(!is_public(ip("2002:808:808::1")));
        assert!(!is_public(ip("2001:0:808:808::1")));
        assert!(!is_public(ip("64:ff9b:1::808:808")));
    }

    #[test]
    fn the_reason_names_the_block() {
        assert_eq!(why_not_public(ip("169.254.169.254")), Some("link-local (RFC 3927)"));
        assert_eq!(why_not_public(ip("::1")), Some("loopback (RFC 4291)"));
        assert_eq!(why_not_public(ip("::ffff:127.0.0.1")), Some("loopback (RFC 1122)"));
        assert_eq!(why_not_public(ip("8.8.8.8")), None);
    }

    #[test]
    fn every_network_of_the_table_has_no_bits_beyond_its_prefix() {
        for Block4(network, prefix, what) in IPV4 {
            assert!(network.to_bits().trailing_zeros() + prefix >= 32, "{what}");
        }
        for Block6(network, prefix, what) in IPV6 {
            assert!(network.to_bits().trailing_zeros() + prefix >= 128, "{what}");
        }
    }
}
