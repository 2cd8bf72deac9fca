//! Several measurements of one quantity.

/// Measurements in the order in which they were made, and sorted.
pub(super) struct Spread {
    pub(super) all: Vec<f64>,
    sorted: Vec<f64>,
}

impl Spread {
    /// # Panics
    /// If there are none.
    pub(super) fn new(all: Vec<f64>) -> Spread {
        assert!(!all.is_empty(), "nothing was measured");
        let mut sorted = all.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        Spread { all, sorted }
    }

    pub(super) fn min(&self) -> f64 {
        self.sorted[0]
    }

    pub(super) fn max(&self) -> f64 {
        self.sorted[self.sorted.len() - 1]
    }

    pub(super) fn median(&self) -> f64 {
        let n = self.sorted.len();
        (self.sorted[(n - 1) / 2] + self.sorted[n / 2]) / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle() {
        let odd = Spread::new(vec![3.0, 1.0, 2.0]);
        assert_eq!((odd.min(), odd.median(), odd.max()), (1.0, 2.0, 3.0));
        assert_eq!(Spread::new(vec![4.0, 1.0, 2.0, 3.0]).median(), 2.5);
        assert_eq!(Spread::new(vec![7.0]).median(), 7.0);
    }
}
