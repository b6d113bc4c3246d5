package observe

// Minus returns the numbers of the time between two snapshots of one run, of which
// earlier is the first. The intervals of a run add up exactly to its totals, also the
// last one, which ends with Close. What is a state and not a sum is that of the later
// snapshot.
func (s Stats) Minus(earlier Stats) Stats {
	d := Stats{
		Elapsed: s.Elapsed - earlier.Elapsed, Start: s.Start - earlier.Start, Loop: s.Loop - earlier.Loop, Waited: s.Waited - earlier.Waited,
		Yielded: s.Yielded - earlier.Yielded,
	}
	for i, t := range s.Stages {
		if i < len(earlier.Stages) {
			t = t.minus(earlier.Stages[i])
		}
		d.Stages = append(d.Stages, t)
	}
	for i, q := range s.Queues {
		if i < len(earlier.Queues) {
			q = q.minus(earlier.Queues[i])
		}
		d.Queues = append(d.Queues, q)
	}
	return d
}

func (t StageStats) minus(u StageStats) StageStats {
	t.In -= u.In
	t.Out -= u.Out
	t.Lost -= u.Lost
	t.Skipped -= u.Skipped
	t.Bytes -= u.Bytes
	t.Moved -= u.Moved
	t.Retried -= u.Retried
	t.Replaced -= u.Replaced
	t.Abandoned -= u.Abandoned
	t.Starved -= u.Starved
	t.Busy -= u.Busy
	t.Blocked -= u.Blocked
	t.Gated -= u.Gated
	t.Queued -= u.Queued
	t.Turn -= u.Turn
	t.Over -= u.Over
	t.Times = bucketsSince(t.Times, u.Times)
	t.percentiles()
	return t
}

func (q QueueStats) minus(r QueueStats) QueueStats {
	area := q.Mean*float64(q.Observed) - r.Mean*float64(r.Observed)
	q.Puts -= r.Puts
	q.Gets -= r.Gets
	q.Empty -= r.Empty
	q.Full -= r.Full
	q.Observed -= r.Observed
	q.PutWait -= r.PutWait
	q.GetWait -= r.GetWait
	q.Mean = 0
	if q.Observed > 0 {
		q.Mean = area / float64(q.Observed)
	}
	return q
}

// bucketsSince is what was counted between two lists in order of UpTo. Buckets only grow,
// and all of the first are in the later.
func bucketsSince(later, earlier []Bucket) (grown []Bucket) {
	for _, b := range later {
		if len(earlier) > 0 && earlier[0].UpTo == b.UpTo {
			b.Count -= earlier[0].Count
			earlier = earlier[1:]
		}
		if b.Count > 0 {
			grown = append(grown, b)
		}
	}
	return grown
}
