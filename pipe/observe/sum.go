package observe

import (
	"slices"

	"github.com/headrace/headrace/pipe/observe/counters"
)

// Plus adds the numbers of another run of the same definition: stages and queues are
// matched by name, those that only the other has are appended. What is a state and not a
// sum (a queue's length and capacity, a stage's workers) is the other's.
func (s Stats) Plus(other Stats) Stats {
	sum := s
	counters.Add(&sum, 1, other)
	sum.Stages, sum.Queues = slices.Clone(s.Stages), slices.Clone(s.Queues)
	for _, t := range other.Stages {
		i := slices.IndexFunc(sum.Stages, func(u StageStats) bool { return u.Name == t.Name })
		if i < 0 {
			sum.Stages = append(sum.Stages, t)
			continue
		}
		sampled := sum.Stages[i].Sampled || t.Sampled
		sum.Stages[i] = t.plus(1, sum.Stages[i])
		sum.Stages[i].Sampled = sampled
	}
	for _, q := range other.Queues {
		i := slices.IndexFunc(sum.Queues, func(r QueueStats) bool { return r.From == q.From && r.To == q.To })
		if i < 0 {
			sum.Queues = append(sum.Queues, q)
			continue
		}
		sum.Queues[i] = q.plus(1, sum.Queues[i])
	}
	return sum
}

// Minus returns the numbers of the time between two snapshots of one run, of which
// earlier is the first. The intervals of a run add up exactly to its totals, also the
// last one, which ends with Close. What is a state and not a sum is that of the later
// snapshot.
func (s Stats) Minus(earlier Stats) Stats {
	d := s
	counters.Add(&d, -1, earlier)
	d.Stages, d.Queues = slices.Clone(s.Stages), slices.Clone(s.Queues)
	for i, t := range earlier.Stages[:min(len(earlier.Stages), len(d.Stages))] {
		d.Stages[i] = d.Stages[i].plus(-1, t)
	}
	for i, q := range earlier.Queues[:min(len(earlier.Queues), len(d.Queues))] {
		d.Queues[i] = d.Queues[i].plus(-1, q)
	}
	return d
}

// FromFirst returns the numbers with clocks that have run only since ahead was taken, of
// the same run: when the consumer first asked for an item. What stages did before is
// counted, as Ahead, and is in no rate and no share.
func (s Stats) FromFirst(ahead Stats) Stats {
	later := s.Minus(ahead)
	later.Yielded, later.Start, later.Loop, later.Waited = s.Yielded, s.Start, s.Loop, s.Waited
	for i, t := range s.Stages {
		counters.AddClocks(&t, -1, ahead.Stages[i])
		t.Ahead = t.In - later.Stages[i].In
		if t.InFlightPerWorker > 0 { // what was on its way to workers elsewhere was not done
			before := ahead.Stages[i]
			t.Ahead = min(t.Ahead, before.Out*t.perOut()+before.Lost+before.Skipped)
		}
		later.Stages[i] = t.WithTimes(t.Times)
	}
	for i, q := range s.Queues {
		later.Queues[i].Puts, later.Queues[i].Gets = q.Puts, q.Gets
	}
	return later
}

// perOut returns how many items were taken for one that was given: more than one if a
// batch is filled with them.
func (t StageStats) perOut() int64 {
	if t.Kind != "fill" || t.Out == 0 {
		return 1
	}
	return (t.In - t.Lost - t.Skipped + t.Out - 1) / t.Out
}

func (t StageStats) plus(times int64, other StageStats) StageStats {
	counters.Add(&t, times, other)
	return t.WithTimes(addBuckets(t.Times, times, other.Times))
}

func (q QueueStats) plus(times int64, other QueueStats) QueueStats {
	area := q.Mean*float64(q.Observed) + float64(times)*other.Mean*float64(other.Observed)
	counters.Add(&q, times, other)
	q.Mean = 0
	if q.Observed > 0 {
		q.Mean = area / float64(q.Observed)
	}
	return q
}

// addBuckets adds lists that are in order of UpTo, without those that come to nothing.
func addBuckets(a []Bucket, times int64, b []Bucket) (sum []Bucket) {
	for len(a) > 0 || len(b) > 0 {
		var one Bucket
		if len(b) == 0 || len(a) > 0 && a[0].UpTo <= b[0].UpTo {
			one, a = a[0], a[1:]
		} else {
			one.UpTo = b[0].UpTo
		}
		if len(b) > 0 && b[0].UpTo == one.UpTo {
			one.Count += times * b[0].Count
			b = b[1:]
		}
		if one.Count > 0 {
			sum = append(sum, one)
		}
	}
	return sum
}

// Folded returns the same numbers with stages, and queues, of one name added up.
func (s Stats) Folded() Stats {
	all := s
	all.Stages, all.Queues = nil, nil
	stages, queues := map[string]int{}, map[[2]string]int{}
	for _, t := range s.Stages {
		i, known := stages[t.Name]
		if !known {
			stages[t.Name] = len(all.Stages)
			all.Stages = append(all.Stages, t)
			continue
		}
		sum := &all.Stages[i]
		times, sampled, hands := addBuckets(sum.Times, 1, t.Times), sum.Sampled || t.Sampled, sum.InFlightPerWorker
		counters.Merge(sum, t)
		sum.Sampled, sum.InFlightPerWorker = sampled, hands
		*sum = sum.WithTimes(times)
	}
	for _, q := range s.Queues {
		i, known := queues[[2]string{q.From, q.To}]
		if !known {
			queues[[2]string{q.From, q.To}] = len(all.Queues)
			all.Queues = append(all.Queues, q)
			continue
		}
		sum := &all.Queues[i]
		mean := sum.Mean + q.Mean // there is as much in all together
		counters.Merge(sum, q)
		sum.Mean = mean
	}
	return all
}
