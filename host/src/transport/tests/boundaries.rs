//! Where a request may go, what it carries there, and that it goes once.

use std::time::{Duration, Instant};

use super::super::{AttachCredential, Refusal};
use super::*;
use crate::credential::Secret;

const CANARY: &str = "canary-5f2d";

async fn refusal(plan: &Plan) -> Refusal {
    transport().send(plan, None, AMPLE).await.unwrap_err()
}

/// A server that must hear nothing.
async fn silent() -> Server {
    Server::always(Reply::Keep(whole("200 OK", b"heard"))).await
}

fn bearer() -> Option<AttachCredential> {
    Some(AttachCredential { header: "Authorization".to_owned(), prefix: "Bearer ".to_owned() })
}

#[tokio::test]
async fn i17_an_origin_that_the_plan_does_not_allow_hears_nothing() {
    let server = silent().await;
    let mut plan = server.plan();
    plan.origins[0].origin = "http://127.0.0.1:1".to_owned();
    let refused = refusal(&plan).await;
    assert_eq!(refused, Refusal::Origin { origin: server.origin() });
    assert!(refused.to_string().contains(&server.origin()));
    plan.origins.clear();
    assert_eq!(refusal(&plan).await.name(), "origin");
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn i17_a_private_address_hears_nothing_unless_allowed() {
    let server = silent().await;
    let port = server.address.port();
    for (url, name) in [
        (format!("http://127.0.0.1:{port}"), "plain_http"),
        (format!("https://127.0.0.1:{port}"), "private_address"),
        (format!("https://[::ffff:127.0.0.1]:{port}"), "private_address"),
        (format!("https://0:{port}"), "private_address"),
        (format!("https://localhost:{port}"), "private_address"),
    ] {
        let mut plan = plan(&url);
        plan.origins[0].allow_private = false;
        let refused = refusal(&plan).await;
        assert_eq!(refused.name(), name, "{url}: {refused}");
    }
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn i17_a_name_that_leads_to_a_private_address_may_be_allowed() {
    let server = silent().await;
    let plan = plan(&format!("http://localhost:{}", server.address.port()));
    assert_eq!(answered(send(&plan).await).status, 200);
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn d28_user_information_and_fragments_are_refused() {
    let server = silent().await;
    for (url, name) in [
        (format!("http://user@{}/", server.address), "user_information"),
        (format!("http://user:pw@{}/", server.address), "user_information"),
        (format!("http://{}/#part", server.address), "fragment"),
        (format!("http://{}\\x", server.address), "address"),
    ] {
        let mut plan = server.plan();
        plan.url = url;
        let refused = refusal(&plan).await;
        assert_eq!(refused.name(), name);
        assert!(!format!("{refused} {refused:?}").contains("pw"));
    }
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn d17_no_time_sends_nothing() {
    let server = silent().await;
    let sent = transport().send(&server.plan(), None, Duration::ZERO).await;
    assert_eq!(sent, Err(Refusal::NoTime));
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn i18_the_credential_goes_into_its_header_and_nowhere_else() {
    let server = silent().await;
    let secret = Secret::new(CANARY.to_owned());
    let mut plan = server.plan();
    plan.headers.push(("authorization".to_owned(), "Bearer stale".to_owned()));
    plan.credential = bearer();
    let sent = transport().send(&plan, Some(&secret), AMPLE).await;
    assert!(!format!("{sent:?} {plan:?} {secret:?}").contains(CANARY));
    // Without a place for it, it isn't sent.
    plan.credential = None;
    transport().send(&plan, Some(&secret), AMPLE).await.unwrap();
    let requests = server.requests();
    let lines = |request: &str| -> Vec<String> {
        let lines = request.lines().filter(|line| line.starts_with("authorization"));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(lines(&requests[0]), [format!("authorization: Bearer {CANARY}")]);
    assert_eq!(requests[0].matches(CANARY).count(), 1);
    assert_eq!(lines(&requests[1]), ["authorization: Bearer stale"]);
}

#[tokio::test]
async fn i18_a_credential_that_can_not_be_sent_is_refused_without_showing_it() {
    let server = silent().await;
    let mut plan = server.plan();
    plan.credential = bearer();
    assert_eq!(refusal(&plan).await.name(), "no_credential");
    let secret = Secret::new(format!("{CANARY}\r\nx: y"));
    let refused = transport().send(&plan, Some(&secret), AMPLE).await.unwrap_err();
    assert_eq!(refused.name(), "header");
    assert!(!format!("{refused} {refused:?}").contains(CANARY));
    // A refused origin is refused with a credential too.
    plan.origins.clear();
    let secret = Secret::new(CANARY.to_owned());
    let refused = transport().send(&plan, Some(&secret), AMPLE).await.unwrap_err();
    assert_eq!(refused.name(), "origin");
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn i1_a_kept_connection_that_breaks_under_a_request_is_not_tried_again() {
    let kept = Reply::Keep(whole("200 OK", b"hello"));
    for broken in [Reply::Close(Vec::new()), Reply::Reset(Vec::new())] {
        for method in ["GET", "POST"] {
            let server = Server::start(vec![kept.clone(), broken.clone(), kept.clone()]).await;
            let transport = transport();
            let mut plan = server.plan();
            plan.method = method.to_owned();
            plan.body = (method == "POST").then(|| "{}".to_owned());
            let first = transport.send(&plan, None, AMPLE).await.unwrap();
            assert_eq!(answered(first).status, 200);
            let second = transport.send(&plan, None, AMPLE).await.unwrap();
            assert_eq!(fault(second), Fault::Reset);
            // Time enough for a second try, were there one.
            tokio::time::sleep(Duration::from_millis(100)).await;
            assert_eq!(server.requests().len(), 2);
        }
    }
}

/// The server closes right after each answer: now and then just as the next request is on its way.
#[tokio::test]
async fn i1_a_connection_closed_between_requests_makes_no_two_of_one() {
    let server = Server::always(Reply::Close(whole("200 OK", b"hello"))).await;
    let transport = transport();
    let mut answers = 0;
    for round in 0..200 {
        match transport.send(&server.plan(), None, AMPLE).await.unwrap() {
            Sent::Answered(_) => answers += 1,
            Sent::Unanswered(unanswered) => assert_eq!(unanswered.fault, Fault::Reset),
        }
        if round % 2 == 0 {
            tokio::task::yield_now().await;
        }
    }
    let received = server.requests().len();
    assert!(answers <= received && received <= 200, "{answers} {received}");
    assert!(answers > 0);
}

#[tokio::test]
async fn i1_an_answer_that_asks_for_another_try_gets_none() {
    for head in ["503 Busy\r\nretry-after: 0", "421 Misdirected", "408 Timeout\r\nconnection: close"] {
        let server = Server::always(Reply::Keep(whole(head, b""))).await;
        assert!(answered(send(&server.plan()).await).status >= 400);
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn connections_are_kept_between_requests() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let plan = plan(&format!("http://{}", listener.local_addr().unwrap()));
    let one = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        serve(stream, vec![Reply::Keep(whole("200 OK", b"x"))], Arc::default()).await;
    });
    let transport = transport();
    for _ in 0..3 {
        let sent = transport.send(&plan, None, AMPLE).await.unwrap();
        assert_eq!(answered(sent).status, 200);
    }
    drop(transport);
    one.await.unwrap();
}

#[tokio::test]
async fn a_send_that_is_dropped_stops() {
    let server = Server::always(Reply::Hang(Vec::new())).await;
    let transport = transport();
    let plan = server.plan();
    let start = Instant::now();
    let sending = transport.send(&plan, None, AMPLE);
    let dropped = tokio::time::timeout(Duration::from_millis(100), sending).await;
    assert!(dropped.is_err());
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(server.requests().len(), 1);
    assert!(start.elapsed() < Duration::from_secs(2));
}

/// Other requests' connections are shared out only once they are idle: a slow provider delays nobody else's.
#[tokio::test]
async fn i21_a_provider_that_hangs_delays_no_other() {
    let slow = Server::always(Reply::Hang(Vec::new())).await;
    let quick = Server::always(Reply::Keep(whole("200 OK", b""))).await;
    let transport = transport();
    let (slow_plan, quick_plan) = (slow.plan(), quick.plan());
    let hanging = transport.send(&slow_plan, None, Duration::from_millis(500));
    let quick = async {
        let start = Instant::now();
        let sent = transport.send(&quick_plan, None, AMPLE).await.unwrap();
        assert_eq!(answered(sent).status, 200);
        start.elapsed()
    };
    let (hung, took) = tokio::join!(hanging, quick);
    assert_eq!(fault(hung.unwrap()), Fault::ReadTimeout);
    assert!(took < Duration::from_millis(400), "{took:?}");
}
