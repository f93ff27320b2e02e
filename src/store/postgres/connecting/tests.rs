//! Tests which password a connection sends to the server.

use super::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// A timeout that the test does not reach.
const LIMIT: Duration = Duration::from_secs(60);

/// The message `AuthenticationCleartextPassword` of PostgreSQL's protocol 3.0.
const ASK_FOR_PASSWORD: [u8; 9] = [b'R', 0, 0, 0, 8, 0, 0, 0, 3];

async fn receive_password(listener: &TcpListener) -> String {
    let (mut client, _) = listener.accept().await.unwrap();
    let length = client.read_u32().await.unwrap();
    client.read_exact(&mut vec![0; length as usize - 4]).await.unwrap();
    client.write_all(&ASK_FOR_PASSWORD).await.unwrap();
    assert_eq!(client.read_u8().await.unwrap(), b'p');
    let mut password = vec![0; client.read_u32().await.unwrap() as usize - 4];
    client.read_exact(&mut password).await.unwrap();
    String::from_utf8(password).unwrap().trim_end_matches('\0').to_string()
}

#[tokio::test]
async fn the_password_file_is_read_for_each_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    let url: PostgresUrl = format!("postgres://u@{address}/d?sslmode=disable").parse().unwrap();
    let url = url.or_password_file(file.path());
    for password in ["first", "second"] {
        std::fs::write(file.path(), format!("{password}\n")).unwrap();
        let connecting = connect(&url, &COMMAND, LIMIT);
        let (refused, received) = tokio::join!(connecting, receive_password(&listener));
        assert_eq!((refused.is_err(), received.as_str()), (true, password));
    }
    let path = file.path().display().to_string();
    drop(file);
    let error = connect(&url, &COMMAND, LIMIT).await.err().unwrap().to_string();
    assert!(error.contains(&format!("{path} cannot be read")), "{error}");
}
