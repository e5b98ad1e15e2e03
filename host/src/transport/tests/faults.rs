//! Every fault from a real cause (D20), and that none outlasts its time.

use std::time::{Duration, Instant};

use tokio::net::TcpSocket;

use super::super::Left;
use super::*;

/// Time for exchanges that are meant to run out of it.
const SHORT: Duration = Duration::from_millis(300);

/// Sends, and sees to it that the time given is kept.
async fn send_within(plan: &Plan, total: Duration) -> Sent {
    let transport = transport();
    let start = Instant::now();
    let sent = transport.send(plan, None, total).await.unwrap();
    assert!(start.elapsed() < total + Duration::from_secs(1), "{sent:?}");
    sent
}

/// A port that nobody listens on.
async fn closed_port() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    listener.local_addr().unwrap()
}

#[tokio::test]
async fn d20_refused_nobody_listens() {
    let address = closed_port().await;
    for scheme in ["http", "https"] {
        let sent = send(&plan(&format!("{scheme}://{address}"))).await;
        let Sent::Unanswered(unanswered) = sent else {
            panic!("{sent:?}");
        };
        assert_eq!(unanswered.fault, Fault::Refused);
        assert_eq!(unanswered.fault.left(), Left::No);
        assert_eq!((unanswered.sent_at, unanswered.at), (NOW, NOW));
        assert!(unanswered.detail.contains("refused"), "{unanswered:?}");
    }
}

#[tokio::test]
async fn d20_dns_the_name_gives_no_address() {
    // A label longer than 63 octets: the resolver needs no network to say no.
    let origin = format!("http://{}.example", "a".repeat(64));
    let sent = send(&plan(&origin)).await;
    let Sent::Unanswered(unanswered) = sent else {
        panic!("{sent:?}");
    };
    assert_eq!(unanswered.fault, Fault::Dns);
    assert!(!unanswered.detail.is_empty());
}

#[tokio::test]
async fn d20_tls_what_listens_does_not_speak_it() {
    for reply in [
        b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(),
        vec![0; 100],
        // A TLS alert: handshake failure.
        vec![0x15, 3, 3, 0, 2, 2, 40],
        Vec::new(),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let _ = stream.read(&mut [0; 4096]).await;
            stream.write_all(&reply).await.unwrap();
        });
        let sent = send(&plan(&format!("https://{address}"))).await;
        assert_eq!(fault(sent), Fault::Tls);
    }
}

#[tokio::test]
async fn d20_connect_timeout_tls_never_ends() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("https://{}", listener.local_addr().unwrap());
    let sent = send_within(&plan(&origin), SHORT).await;
    assert_eq!(fault(sent), Fault::ConnectTimeout);
}

#[tokio::test]
async fn d20_connect_timeout_nobody_accepts() {
    // A listener with room for one, and others that fill it.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let mut waiting = Vec::new();
    for _ in 0..4 {
        let connecting = tokio::time::timeout(SHORT / 3, TcpStream::connect(address));
        waiting.push(connecting.await);
    }
    let sent = send_within(&plan(&format!("http://{address}")), SHORT).await;
    assert_eq!(fault(sent), Fault::ConnectTimeout);
}

#[tokio::test]
async fn d20_reset_the_connection_breaks_before_the_answer() {
    for reply in [
        Reply::Reset(Vec::new()),
        Reply::Close(Vec::new()),
        Reply::Close(b"HTTP/1.1 200 OK\r\ncontent-le".to_vec()),
        Reply::Reset(b"HTTP/1.1 200 OK\r\ncontent-le".to_vec()),
    ] {
        let server = Server::always(reply).await;
        let fault = fault(send(&server.plan()).await);
        assert_eq!((fault, fault.left()), (Fault::Reset, Left::Maybe));
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn d20_undecodable_the_answer_is_no_http() {
    let many = "x: y\r\n".repeat(101);
    for reply in [
        "SSH-2.0-OpenSSH_9.6\r\n\r\n".to_owned(),
        "HTTP/1.1 2000 OK\r\n\r\n".to_owned(),
        "HTTP/1.1 200 OK\r\nbad header\r\n\r\n".to_owned(),
        "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n".to_owned(),
        "HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n".to_owned(),
        format!("HTTP/1.1 200 OK\r\n{many}\r\n"),
    ] {
        let server = Server::always(Reply::Close(reply.clone().into())).await;
        assert_eq!(fault(send(&server.plan()).await), Fault::Undecodable, "{reply}");
    }
}

#[tokio::test]
async fn d20_a_head_without_end_is_given_up() {
    let head = b"HTTP/1.1 200 OK\r\n".to_vec();
    let filler = format!("x-filler: {}", "a".repeat(1 << 16));
    let server = Server::always(Reply::Endless(head, filler.into(), Duration::ZERO)).await;
    assert_eq!(fault(send(&server.plan()).await), Fault::Undecodable);
}

#[tokio::test]
async fn d17_read_timeout_the_head_never_comes_or_only_drop_by_drop() {
    let drip = Reply::Endless(b"HTTP/1.1 200 OK\r\nx: ".to_vec(), b"a".to_vec(), Duration::from_millis(10));
    let informed = Reply::Endless(Vec::new(), b"HTTP/1.1 103 Early Hints\r\n\r\n".to_vec(), Duration::from_millis(10));
    for reply in [Reply::Hang(Vec::new()), drip, informed] {
        let server = Server::always(reply).await;
        let sent = send_within(&server.plan(), SHORT).await;
        let fault = fault(sent);
        assert_eq!((fault, fault.left()), (Fault::ReadTimeout, Left::Maybe));
    }
}

#[tokio::test]
async fn d17_read_timeout_the_body_comes_drop_by_drop() {
    let head = b"HTTP/1.1 503 Busy\r\nretry-after: 3\r\ncontent-length: 9999\r\n\r\n".to_vec();
    let drip = Reply::Endless(head, b"a".to_vec(), Duration::from_millis(10));
    let server = Server::always(drip).await;
    let answer = answered(send_within(&server.plan(), SHORT).await);
    assert_eq!((answer.status, answer.incomplete), (503, Some(Fault::ReadTimeout)));
    assert_eq!(answer.headers[0], ("retry-after".to_owned(), "3".to_owned()));
}

#[tokio::test]
async fn i18_no_fault_shows_address_or_credential() {
    let garbage = Server::always(Reply::Close(b"garbage canary-9\r\n\r\n".to_vec())).await;
    let long = format!("http://{}.example", "a".repeat(64));
    let closed = format!("http://{}", closed_port().await);
    for origin in [garbage.origin(), long, closed] {
        let mut plan = plan(&origin);
        plan.url.push_str("?sig=canary-1");
        plan.headers.push(("x-key".to_owned(), "canary-2".to_owned()));
        plan.body = Some("canary-3".to_owned());
        let shown = format!("{:?} {plan:?}", send(&plan).await);
        assert!(!shown.contains("canary"), "{shown}");
        assert!(shown.contains("x-key") && shown.contains("/jobs/1"), "{shown}");
    }
}
