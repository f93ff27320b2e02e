//! `nginx-conf` prints a proxy's nginx configuration: the whole file, or with `--site` a file for
//! one site.

use clap::Args;

const WHOLE: &str = include_str!("nginx.conf");

/// The comment at the top of the file that `--site` prints.
const SITE_HEADER: &str = "\
# nginx before Store Orders: nginx 1.22 or later. Put this file at
# /etc/nginx/sites-available/store-orders and replace orders.example.com and the two paths of the
# certificate; then
#   ln -s ../sites-available/store-orders /etc/nginx/sites-enabled/
#   nginx -t && systemctl reload nginx
# Start the server with the proxy's address trusted, for instance
#   store-orders serve --listen 127.0.0.1:8080 --trusted-proxy 127.0.0.1/32
# Each client takes up to two of the worker_connections in /etc/nginx/nginx.conf. Debian's 768 are too
# few, because a client that never finishes the TLS handshake occupies one for 10 s. Set there
#   worker_rlimit_nofile 65536;
#   events { worker_connections 16384; }
# nginx creates log files that every user can read, so create them before the reload:
#   touch /var/log/nginx/store-orders-access.log /var/log/nginx/store-orders-error.log
#   chmod 640 /var/log/nginx/store-orders-*.log
";

#[derive(Args, Debug)]
pub struct NginxConfArgs {
    /// Print a file for sites-available, for an nginx that also serves other sites
    #[arg(long)]
    site: bool,
}

impl NginxConfArgs {
    pub(super) fn text(&self) -> String {
        if self.site { site() } else { WHOLE.to_string() }
    }
}

fn site() -> String {
    let inside = WHOLE.split_once("\nhttp {\n").map_or(WHOLE, |(_, inside)| inside);
    let lines = inside.trim_end().trim_end_matches('}').trim_end().lines();
    let lines = lines.map(|line| format!("\n{}", line.strip_prefix("    ").unwrap_or(line)));
    format!("{SITE_HEADER}{}\n", lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An nginx block with its own `add_header` lines inherits none from the outer block. So such a
    /// block must repeat the `Strict-Transport-Security` line.
    #[test]
    fn every_block_with_headers_has_the_line_that_requires_https() {
        let is_header =
            |line: &str| line.trim_start().trim_start_matches('#').starts_with("add_header");
        let blocks = WHOLE.split(['{', '}']).filter(|block| block.lines().any(is_header));
        let blocks: Vec<_> = blocks.collect();
        assert_eq!(blocks.len(), 2);
        for block in blocks {
            assert!(block.contains("#add_header Strict-Transport-Security "), "{block}");
        }
    }
}
