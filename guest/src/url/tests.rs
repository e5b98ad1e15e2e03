use super::*;

fn text(input: &str) -> Result<String, UrlError> {
    Url::parse(input).map(|url| url.as_str().into())
}

#[test]
fn d28_urls_are_normalized_only_in_scheme_host_port_and_empty_path() {
    for (input, expected) in [
        ("https://api.example.com/v1/Jobs/1?x=Y", "https://api.example.com/v1/Jobs/1?x=Y"),
        ("HTTPS://API.Example.COM:443/", "https://api.example.com/"),
        ("http://h:80", "http://h/"),
        ("http://h:443", "http://h:443/"),
        ("https://h:80/", "https://h:80/"),
        ("https://h?q", "https://h/?q"),
        ("https://h/?", "https://h/?"),
        ("https://h//a//", "https://h//a//"),
        ("https://h/a:b@c;d=1,2!$&'()*+~", "https://h/a:b@c;d=1,2!$&'()*+~"),
        ("https://h/%2Fa%c3%A9", "https://h/%2Fa%c3%A9"),
        ("https://h/...", "https://h/..."),
        ("https://h/.a/a./..b", "https://h/.a/a./..b"),
        ("https://h/?a=../..&b=/?", "https://h/?a=../..&b=/?"),
        ("https://xn--bcher-kva.example/", "https://xn--bcher-kva.example/"),
        ("https://a_b-c.d1/", "https://a_b-c.d1/"),
        ("http://127.0.0.1:8080/x", "http://127.0.0.1:8080/x"),
        ("http://255.255.255.255/", "http://255.255.255.255/"),
        ("http://1.2.3.4.example/", "http://1.2.3.4.example/"),
        ("http://[2001:DB8:0:0::1]:8080/x", "http://[2001:db8::1]:8080/x"),
        ("http://[::ffff:1.2.3.4]/", "http://[::ffff:1.2.3.4]/"),
        ("http://h:65535/", "http://h:65535/"),
    ] {
        assert_eq!(text(input).as_deref(), Ok(expected), "{input}");
        assert_eq!(text(expected).as_deref(), Ok(expected), "again: {expected}");
    }
}

#[test]
fn d28_what_clients_read_in_different_ways_is_refused() {
    use UrlError::{Character, DotSegment, Fragment, Host, Path, Port, Query, Scheme, UserInfo};
    for (input, why) in [
        ("", Scheme),
        ("h/x", Scheme),
        ("//h/x", Scheme),
        ("/x", Scheme),
        ("https:/h/x", Scheme),
        ("https:h", Scheme),
        ("https:\\\\h", Scheme),
        ("ftp://h/", Scheme),
        ("file:///etc/passwd", Scheme),
        ("javascript://h/%0aalert(1)", Scheme),
        ("httpss://h/", Scheme),
        (" https://h/", Character),
        ("https://h/ ", Character),
        ("https://h/a b", Character),
        ("https://h/\t", Character),
        ("ht\ntps://h/", Character),
        ("https://h/\0", Character),
        ("https://h\u{7f}/", Character),
        ("https://bücher.example/", Character),
        ("https://h/é", Character),
        ("https://h\u{3002}com/", Character),
        ("https:///x", Host),
        ("https://", Host),
        ("https://?x", Host),
        ("https://:443/", Host),
        ("https://.h/", Host),
        ("https://h./", Host),
        ("https://h..com/", Host),
        ("https://a%2eb/", Host),
        ("https://a,b/", Host),
        ("https://a\\b/", Host),
        ("https://h\\@evil/", UserInfo),
        ("https://user@h/", UserInfo),
        ("https://user:pw@h/", UserInfo),
        ("https://@h/", UserInfo),
        ("https://h:80@evil/", UserInfo),
        ("http://127.1/", Host),
        ("http://2130706433/", Host),
        ("http://0x7f.1/", Host),
        ("http://0x7f000001/", Host),
        ("http://1.2.3.0x4/", Host),
        ("http://0X7F.0.0.0X1/", Host),
        ("http://h.0x/", Host),
        ("http://0177.0.0.1/", Host),
        ("http://127.0.0.01/", Host),
        ("http://127.0.0.1./", Host),
        ("http://256.0.0.1/", Host),
        ("http://1.2.3.4.5/", Host),
        ("http://1.2.3/", Host),
        ("http://example.1/", Host),
        ("http://[::1/", Host),
        ("http://::1/", Port),
        ("http://[::1]x/", Host),
        ("http://[::1%25eth0]/", Host),
        ("http://[fe80::1%eth0]/", Host),
        ("http://[v1.a]/", Host),
        ("http://[127.0.0.1]/", Host),
        ("http://[]/", Host),
        ("https://h:/", Port),
        ("https://h:0/", Port),
        ("https://h:0443/", Port),
        ("https://h:65536/", Port),
        ("https://h:+443/", Port),
        ("https://h:-1/", Port),
        ("https://h:443:443/", Port),
        ("https://h:a/", Port),
        ("http://[::1]:/", Port),
        ("https://h/#", Fragment),
        ("https://h/a#b", Fragment),
        ("https://h#@evil/", Fragment),
        ("https://h/a\\b", Path),
        ("https://h/%", Path),
        ("https://h/%2", Path),
        ("https://h/%zz", Path),
        ("https://h/%+1", Path),
        ("https://h/{id}", Path),
        ("https://h/[1]", Path),
        ("https://h/a|b", Path),
        ("https://h/\"", Path),
        ("https://h/<", Path),
        ("https://h/^`", Path),
        ("https://h/?%4", Query),
        ("https://h/?a[0]=1", Query),
        ("https://h/?a\\b", Query),
        ("https://h/.", DotSegment),
        ("https://h/..", DotSegment),
        ("https://h/a/../b", DotSegment),
        ("https://h/a/./b", DotSegment),
        ("https://h/a/%2e%2E/b", DotSegment),
        ("https://h/a/.%2e", DotSegment),
        ("https://h/%2e?x", DotSegment),
    ] {
        assert_eq!(text(input), Err(why), "{input:?}");
    }
    let long = |count: usize| format!("https://h/{}", "a".repeat(count));
    assert_eq!(text(&long(2048 - 10)), Ok(long(2048 - 10)));
    assert_eq!(text(&long(2048 - 9)), Err(UrlError::TooLong));
    assert_eq!(text(&format!("https://h?{}", "a".repeat(2048 - 10))), Err(UrlError::TooLong), "the `/` counts");
    assert_eq!(text(&format!("https://{}.com/", "a".repeat(64))), Err(Host));
}

#[test]
fn parts_of_a_url() {
    let url = Url::parse("https://H:8443/a/b?x=1&%C3%A9%26=2&&flag&x&=v&%ff=1&a+b=c").unwrap();
    assert_eq!(url.origin(), "https://h:8443");
    assert_eq!(url.path(), "/a/b");
    assert_eq!(url.query(), Some("x=1&%C3%A9%26=2&&flag&x&=v&%ff=1&a+b=c"));
    assert_eq!(url.without_query(), "https://h:8443/a/b");
    assert_eq!(url.query_names(), ["x", "é&", "flag", "x", "", "%ff", "a+b"]);
    let bare = Url::parse("https://h").unwrap();
    assert_eq!((bare.path(), bare.query(), bare.query_names().len()), ("/", None, 0));
    assert_eq!(Url::parse("https://h/?").unwrap().query(), Some(""));
}

/// RFC 3986 section 5.4, with those that must not be requested refused.
#[test]
fn rfc_3986_references_are_resolved() {
    let base = Url::parse("http://a/b/c/d;p?q").unwrap();
    for (reference, expected) in [
        ("g", "http://a/b/c/g"),
        ("./g", "http://a/b/c/g"),
        ("g/", "http://a/b/c/g/"),
        ("/g", "http://a/g"),
        ("//g", "http://g/"),
        ("?y", "http://a/b/c/d;p?y"),
        ("g?y", "http://a/b/c/g?y"),
        (";x", "http://a/b/c/;x"),
        ("g;x", "http://a/b/c/g;x"),
        ("", "http://a/b/c/d;p?q"),
        (".", "http://a/b/c/"),
        ("./", "http://a/b/c/"),
        ("..", "http://a/b/"),
        ("../", "http://a/b/"),
        ("../g", "http://a/b/g"),
        ("../..", "http://a/"),
        ("../../", "http://a/"),
        ("../../g", "http://a/g"),
        ("../../../g", "http://a/g"),
        ("../../../../g", "http://a/g"),
        ("/./g", "http://a/g"),
        ("/../g", "http://a/g"),
        ("g.", "http://a/b/c/g."),
        (".g", "http://a/b/c/.g"),
        ("g..", "http://a/b/c/g.."),
        ("..g", "http://a/b/c/..g"),
        ("./../g", "http://a/b/g"),
        ("./g/.", "http://a/b/c/g/"),
        ("g/./h", "http://a/b/c/g/h"),
        ("g/../h", "http://a/b/c/h"),
        ("g;x=1/./y", "http://a/b/c/g;x=1/y"),
        ("g;x=1/../y", "http://a/b/c/y"),
        ("g?y/./x", "http://a/b/c/g?y/./x"),
        ("g?y/../x", "http://a/b/c/g?y/../x"),
        ("/a/../..//g", "http://a//g"),
        ("/.//h/x", "http://a//h/x"),
        ("./a:b", "http://a/b/c/a:b"),
        ("//H:80/x/../y?z", "http://h/y?z"),
        ("//g?y", "http://g/?y"),
        ("https://other/x", "https://other/x"),
        ("HTTP://other/x?y=a:b", "http://other/x?y=a:b"),
        ("?", "http://a/b/c/d;p?"),
    ] {
        assert_eq!(base.resolve(reference).as_ref().map(Url::as_str), Ok(expected), "{reference}");
    }
}

#[test]
fn d28_references_that_must_not_be_requested_are_refused() {
    let base = Url::parse("http://a/b/c/d;p?q").unwrap();
    for (reference, why) in [
        ("g:h", UrlError::Scheme),
        ("http:g", UrlError::Scheme),
        ("a:b", UrlError::Scheme),
        (":x", UrlError::Scheme),
        ("mailto:x@y", UrlError::Scheme),
        ("#s", UrlError::Fragment),
        ("g#s/../x", UrlError::Fragment),
        ("//user@h/", UrlError::UserInfo),
        ("//", UrlError::Host),
        ("///x", UrlError::Host),
        ("//127.1/x", UrlError::Host),
        ("/\\evil/x", UrlError::Path),
        ("\\\\evil/x", UrlError::Path),
        ("/a/%2e%2e/b", UrlError::DotSegment),
        ("%2e%2e/b", UrlError::DotSegment),
        ("http://h/a/../b", UrlError::DotSegment),
        ("a b", UrlError::Character),
        (" http://h/", UrlError::Scheme),
        ("é", UrlError::Character),
    ] {
        let resolved = base.resolve(reference);
        let refused = matches!(&resolved, Err(found) if *found == why || *found == UrlError::Character);
        assert!(refused, "{reference}: {resolved:?}");
    }
    assert_eq!(base.resolve(&"a/".repeat(2_000)), Err(UrlError::TooLong));
}

#[test]
fn origins_are_nothing_but_origins() {
    assert_eq!(parse_origin("HTTPS://Api.Example.com:443").as_deref(), Ok("https://api.example.com"));
    assert_eq!(parse_origin("http://[::1]:8080").as_deref(), Ok("http://[::1]:8080"));
    for input in
        ["https://h/", "https://h?", "https://h/x", "https://h#", "https://u@h", "h", "https://*.h", "https://", "null"]
    {
        assert!(parse_origin(input).is_err(), "{input}");
    }
}
