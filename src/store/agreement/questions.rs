//! Which question a list waits for. Several are under way at once, and a list takes the first that
//! is sent after it arrived: one that was sent before may lack what was committed in between.

/// The questions of a session, which know nothing of what is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Questions<C> {
    /// The one that is sent next.
    next: C,
    is_awaited: bool,
    under_way: usize,
}

impl<C> Questions<C> {
    /// None under way.
    pub fn new(next: C) -> Questions<C> {
        Questions { next, is_awaited: false, under_way: 0 }
    }

    /// The question for a list that arrives now.
    pub fn join(&mut self) -> &mut C {
        self.is_awaited = true;
        &mut self.next
    }

    /// The question that is sent next, if one is to be sent while so many may be under way.
    pub fn due(&self, most: usize) -> Option<&C> {
        (self.is_awaited && self.under_way < most).then_some(&self.next)
    }

    /// Sends it. Lists that arrive from now on wait for the one `after`.
    pub fn send(&mut self, after: C) -> C {
        self.is_awaited = false;
        self.under_way += 1;
        std::mem::replace(&mut self.next, after)
    }

    /// One was answered.
    pub fn answered(&mut self) {
        self.under_way = self.under_way.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_takes_the_first_check_that_is_sent_after_it_arrived() {
        let mut questions = Questions::new(1);
        assert_eq!(questions.due(2), None);
        assert_eq!(*questions.join(), 1);
        assert_eq!(questions.due(2), Some(&1));
        assert_eq!(questions.send(2), 1);
        assert_eq!(questions.due(2), None, "nobody waits");
        assert_eq!(*questions.join(), 2, "not the one under way");
        assert_eq!(questions.due(1), None);
        assert_eq!(questions.send(3), 2);
        questions.join();
        assert_eq!(questions.due(2), None);
        questions.answered();
        assert_eq!(questions.due(2), Some(&3));
    }
}
