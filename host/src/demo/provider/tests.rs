use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;
use crate::demo::stories::stories;

async fn provider() -> Provider {
    Provider::start(stories(1).unwrap(), 0).await.unwrap()
}

/// What one connection brings, until the provider closes it.
async fn get(provider: &Provider, path: &str) -> String {
    let mut stream = TcpStream::connect(provider.address()).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", provider.address());
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    // A connection that is reset has brought what it has brought.
    let _ended = stream.read_to_end(&mut answer).await;
    String::from_utf8(answer).unwrap()
}

#[tokio::test]
async fn a_script_goes_on_with_each_request_and_every_request_is_counted() {
    let provider = provider().await;
    let id = "queued.hint-400.done--a";
    let answers = [get(&provider, &format!("/v1/jobs/{id}")).await, get(&provider, &format!("/v1/jobs/{id}")).await];
    assert!(answers[0].contains(r#""state":"queued""#) && answers[0].contains(&format!("x-request-id: {id}-1")));
    assert!(answers[1].contains(r#""poll_after_ms":400"#) && answers[1].contains(r#""percent":66"#), "{}", answers[1]);
    for _ in 0..2 {
        let done = get(&provider, &format!("/v1/jobs/{id}")).await;
        assert!(done.contains(&format!("http://{}/files/{id}", provider.address())), "{done}");
    }
    assert_eq!((provider.counted(id), provider.counted("queued.hint-400.done--b")), (4, 0));
    assert!(get(&provider, "/witness").await.contains(&format!(r#"{{"requests":{{"{id}":4}}}}"#)));
}

#[tokio::test]
async fn a_named_job_plays_its_script_anew_after_two_dashes() {
    let provider = provider().await;
    let first = provider.stories()[0].script.to_string();
    assert!(first.starts_with("queued") || first.starts_with("running"));
    for id in ["quick", "quick--2"] {
        assert!(get(&provider, &format!("/v1/jobs/{id}")).await.contains("HTTP/1.1 200 OK"));
        assert_eq!(provider.counted(id), 1);
    }
    assert!(get(&provider, "/v1/jobs/nobody").await.starts_with("HTTP/1.1 404"));
    assert_eq!(provider.counted("nobody"), 1, "a request for no job is counted too");
    assert!(get(&provider, "/jobs").await.contains(r#""job":"endless""#));
}

#[tokio::test]
async fn both_forms_of_retry_after_are_as_rfc_9110_writes_them() {
    let provider = provider().await;
    assert!(get(&provider, "/v1/jobs/429-2").await.contains("retry-after: 2\r\n"));
    let answer = get(&provider, "/v1/jobs/503-date5").await;
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    let date = answer.lines().find_map(|line| line.strip_prefix("retry-after: ")).unwrap();
    let at = chrono::NaiveDateTime::parse_from_str(date, "%a, %d %b %Y %H:%M:%S GMT").unwrap().and_utc();
    let ahead = (at - chrono::Utc::now()).num_seconds();
    assert!((3..=5).contains(&ahead), "{ahead} s");
}

#[tokio::test]
async fn connections_end_where_the_script_says() {
    let provider = provider().await;
    assert_eq!(get(&provider, "/v1/jobs/drop").await, "");
    let half = get(&provider, "/v1/jobs/half").await;
    let (head, body) = half.split_once("\r\n\r\n").unwrap();
    let promised = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    assert_eq!(body.len(), promised.parse::<usize>().unwrap() / 2, "{half}");
    let waited = tokio::time::timeout(Duration::from_millis(300), get(&provider, "/v1/jobs/hang")).await;
    assert!(waited.is_err(), "{waited:?}");
    assert_eq!(provider.counted("hang"), 1);
}

#[tokio::test]
async fn answers_that_lie_are_as_documented() {
    let provider = provider().await;
    assert!(get(&provider, "/v1/jobs/another").await.contains(r#""job_id":"somebody-elses""#));
    assert!(get(&provider, "/v1/jobs/hollow").await.contains(r#""result_url":null,"state":"done""#));
    assert!(get(&provider, "/v1/jobs/moved--a").await.contains(r#""moved_to":"running.done--moved--a""#));
    assert!(get(&provider, "/v1/jobs/garbage").await.ends_with("<html>it works</html>"));
    assert!(get(&provider, "/v1/jobs/is-paused").await.contains(r#""state":"paused""#));
}
