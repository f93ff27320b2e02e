//! What a Redis says of itself, and whether limits can be counted in it.

/// The oldest Redis that has all the script needs: `SET` with `PXAT` and `KEEPTTL`.
const OLDEST: (u32, u32) = (6, 2);

/// What `INFO` says that matters here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerFacts {
    /// `redis_version`, such as `7.0.15`.
    pub version: String,
    mode: String,
    role: String,
    eviction: Option<String>,
    append_only: Option<bool>,
    /// What identifies its history of writes, `master_replid`.
    pub history: String,
    /// How far it is, in bytes.
    offset: u64,
    /// The history that it continues since its promotion, and the offset at which its own
    /// begins: `master_replid2` and `second_repl_offset`.
    continues: Option<(String, u64)>,
}

/// What became of the writes between two sights of a primary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Continuity {
    /// They are all there.
    Kept,
    /// A replica was promoted that had not received the last ones, or the primary was restarted
    /// without them.
    Behind,
    /// The history is another: after a restart from the append-only file, which keeps the
    /// writes, and after the promotion of a replica without them.
    Unknown,
}

impl ServerFacts {
    /// Reads the answer to `INFO`.
    pub fn read(info: &str) -> ServerFacts {
        let field = |name: &str| {
            let of = |line: &str| line.strip_prefix(name)?.strip_prefix(':').map(str::to_string);
            info.lines().find_map(|line| of(line.trim_end()))
        };
        let number = |text: String| text.parse().ok();
        ServerFacts {
            version: field("redis_version").unwrap_or_default(),
            mode: field("redis_mode").unwrap_or_default(),
            role: field("role").unwrap_or_default(),
            eviction: field("maxmemory_policy"),
            append_only: field("aof_enabled").map(|enabled| enabled == "1"),
            history: field("master_replid").unwrap_or_default(),
            offset: field("master_repl_offset").and_then(number).unwrap_or_default(),
            // -1 if it was never promoted.
            continues: field("master_replid2").zip(field("second_repl_offset").and_then(number)),
        }
    }

    /// Why limits can never be counted there.
    pub fn unsuitable_because(&self) -> Option<String> {
        let mut numbers = self.version.split('.').map(|part| part.parse().unwrap_or(0));
        let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        if self.mode == "cluster" {
            return Some(
                "it is a Redis Cluster, and one batch of requests would span its slots; name \
                 a single primary"
                    .to_string(),
            );
        }
        if self.mode == "sentinel" {
            return Some("it is a Sentinel, which counts nothing; name the primary".to_string());
        }
        let (major, minor) = OLDEST;
        (version < OLDEST).then(|| {
            format!("Redis {} is too old: {major}.{minor} or later is needed", self.version)
        })
    }

    /// Whether it is a replica, which takes no writes.
    pub fn is_replica(&self) -> bool {
        self.role == "slave"
    }

    /// Whether it has the writes that a primary had when it said these facts.
    pub fn continuity(&self, before: &ServerFacts) -> Continuity {
        let is_kept = match &self.continues {
            _ if self.history == before.history => self.offset >= before.offset,
            // Its own history begins with the first byte that it did not receive.
            Some((history, begins)) if *history == before.history => *begins > before.offset,
            _ => return Continuity::Unknown,
        };
        if is_kept { Continuity::Kept } else { Continuity::Behind }
    }

    /// How it may lose counts.
    pub fn warnings(&self) -> Vec<&'static str> {
        let mut warnings = Vec::new();
        if self.eviction.as_deref().is_some_and(|policy| policy != "noeviction") {
            warnings.push("maxmemory-policy is not noeviction: it drops counts when it is full");
        }
        if self.append_only == Some(false) {
            warnings.push("appendonly is off: a restart loses every count");
        }
        warnings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(lines: &[&str]) -> ServerFacts {
        let well = "# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\nrole:master\r\n\
                    maxmemory_policy:noeviction\r\naof_enabled:1\r\n";
        ServerFacts::read(&format!("{}\r\n{well}", lines.join("\r\n")))
    }

    #[test]
    fn only_a_single_recent_server_will_do() {
        assert_eq!(facts(&[]).unsuitable_because(), None);
        for (line, why) in [
            ("redis_mode:cluster", "Cluster"),
            ("redis_mode:sentinel", "Sentinel"),
            ("redis_version:6.0.20", "too old"),
            ("redis_version:5.9.1", "too old"),
            ("redis_version:", "too old"),
        ] {
            assert!(facts(&[line]).unsuitable_because().unwrap().contains(why), "{line}");
        }
        for line in ["redis_version:6.2.0", "redis_version:8.0.1", "redis_version:10.0.0"] {
            assert_eq!(facts(&[line]).unsuitable_because(), None, "{line}");
        }
        assert!(facts(&["role:slave"]).is_replica() && !facts(&[]).is_replica());
    }

    #[test]
    fn the_histories_of_two_primaries_are_compared() {
        let history = |id: &str, offset: u64, before: &str, begins: i64| {
            let lines = [
                format!("master_replid:{id}"),
                format!("master_repl_offset:{offset}"),
                format!("master_replid2:{before}"),
                format!("second_repl_offset:{begins}"),
            ];
            facts(&lines.each_ref().map(String::as_str))
        };
        let before = history("a", 1_000, "0", -1);
        for (now, expected) in [
            (history("a", 1_000, "0", -1), Continuity::Kept),
            (history("a", 999, "0", -1), Continuity::Behind),
            (history("b", 1_200, "a", 1_001), Continuity::Kept),
            (history("b", 1_200, "a", 1_000), Continuity::Behind),
            (history("b", 1_200, "0", -1), Continuity::Unknown),
            (history("c", 1_200, "b", 1_100), Continuity::Unknown),
        ] {
            assert_eq!(now.continuity(&before), expected, "{now:?}");
        }
    }

    #[test]
    fn what_can_lose_counts_is_warned_of() {
        assert!(facts(&[]).warnings().is_empty());
        assert_eq!(facts(&["maxmemory_policy:allkeys-lru"]).warnings().len(), 1);
        assert_eq!(facts(&["aof_enabled:0", "maxmemory_policy:volatile-ttl"]).warnings().len(), 2);
    }
}
