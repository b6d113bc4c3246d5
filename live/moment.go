package live

import (
	"slices"
	"time"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/stats"
)

// Moment is a loader as it is now. Rates and shares are of its last Window seconds.
type Moment struct {
	ID      string  `json:"id"`
	Name    string  `json:"name"`
	Program string  `json:"program"`
	PID     int     `json:"pid"`
	Rank    int     `json:"rank"`
	Ranks   int     `json:"ranks"`
	Time    int64   `json:"time"`    // milliseconds of Unix time
	Running float64 `json:"running"` // seconds
	Window  float64 `json:"window"`

	Sentence string `json:"sentence"`          // of package stats
	Helps    string `json:"helps,omitempty"`   // likewise: what would make the loop faster
	Limits   int    `json:"limits"`            // the stage that limits; -1: the loop; -2: none clearly
	Stalled  string `json:"stalled,omitempty"` // the report of a run in which nothing moves

	Loop      Loop      `json:"loop"`
	Progress  Progress  `json:"progress"`
	Waits     Waits     `json:"waits"`
	Stages    []Stage   `json:"stages"`
	More      int       `json:"more,omitempty"` // stages that there was no room for
	Memory    Memory    `json:"memory"`
	Cores     int       `json:"cores"` // that may be used
	Processes []Process `json:"processes"`

	Lost     int64     `json:"lost"`
	Replaced int64     `json:"replaced"`
	Failures []Failure `json:"failures"` // the newest first
	Notes    []Note    `json:"notes"`    // likewise
}

// Loop has the rates and waits of the training loop. The steps with where="main", which
// the program calls itself, are neither waits nor its step.
type Loop struct {
	Samples   float64 `json:"samples"`              // a second
	Batches   float64 `json:"batches"`              // a second
	Share     float64 `json:"share"`                // of its time in which it waited
	MainShare float64 `json:"main_share,omitempty"` // of its time, in steps with where="main"
	Wait      float64 `json:"wait"`                 // seconds for each batch
	Main      float64 `json:"main,omitempty"`       // seconds for each batch in those steps
	Step      float64 `json:"step"`                 // seconds between a batch and the next request
}

// Stage is a stage with the queue after it.
type Stage struct {
	Name    string  `json:"name"`
	Full    string  `json:"full,omitempty"` // if Name is shortened
	Kind    string  `json:"kind"`
	Workers int     `json:"workers"`
	In      int64   `json:"in"` // since the start, as Out and Lost
	Out     int64   `json:"out"`
	Lost    int64   `json:"lost"`
	Rate    float64 `json:"rate"`            // items taken a second
	Bytes   float64 `json:"bytes,omitempty"` // a second

	Busy    float64 `json:"busy"` // the shares of its workers' time
	Starved float64 `json:"starved"`
	Blocked float64 `json:"blocked"`
	Gated   float64 `json:"gated"`

	Typical float64 `json:"p50"` // seconds that an item takes
	Slow    float64 `json:"p99"`

	To    int     `json:"to"`    // the stage after the queue; -1: the loop; -2: there is none
	Ready float64 `json:"ready"` // items in the queue, on average
	Room  int     `json:"room"`
}

// Memory is the budget, in bytes.
type Memory struct {
	Used     int64            `json:"used"`
	Limit    int64            `json:"limit"`
	Purposes map[string]int64 `json:"purposes,omitempty"`
	Leased   int              `json:"leased"` // batches that the program holds
	Slots    int              `json:"slots"`
}

// Process is one process of the loader, or several of a name.
type Process struct {
	Name     string  `json:"name"`
	Count    int     `json:"count"`
	Cores    float64 `json:"cores"` // that it kept busy
	Resident int64   `json:"resident"`
}

// reading has the counts of a time.
type reading struct {
	at       time.Time
	stats    stats.Snapshot
	progress Progress
}

const (
	window = 10 * time.Second // that a moment tells of
	// A loop of long steps gets fewer than two batches in that time. Then it is more:
	// older readings are kept ten seconds apart.
	longer = 60 * time.Second
)

// sample reads the counts. Only this goroutine does, so the lock is not held meanwhile.
func (w *Watched) sample(now time.Time) {
	s := w.loader.Stats()

	w.mu.Lock()
	defer w.mu.Unlock()
	w.keep(reading{now, s, w.progress})
	since, from := w.since()
	m := w.momentOf(now, since, from)
	w.history.add(now, w.progress.Samples, loopTimes{s.Loop, s.Waited - s.Main}, w.limitNumber(m))
	if changed, text := w.limit.see(m); changed {
		w.note("limit", text)
		m.Notes = slices.Clone(w.notes)
		slices.Reverse(m.Notes)
	}
	w.now = m
}

// keep adds a reading, and forgets old ones.
func (w *Watched) keep(r reading) {
	kept := w.readings[:0]
	for i, old := range w.readings {
		age := r.at.Sub(old.at)
		spaced := len(kept) == 0 || old.at.Sub(kept[len(kept)-1].at) >= window
		// The first that is older than the window is where the window begins.
		begins := i+1 < len(w.readings) && r.at.Sub(w.readings[i+1].at) <= window
		if age <= window || begins || spaced && age <= longer+window {
			kept = append(kept, old)
		}
	}
	clear(w.readings[len(kept):])
	w.readings = append(kept, r)
}

// since returns the counts of the window, and the reading at its beginning.
func (w *Watched) since() (stats.Snapshot, reading) {
	last := w.readings[len(w.readings)-1]
	for _, least := range []time.Duration{window, longer} {
		for i := len(w.readings) - 2; i >= 0; i-- {
			from := w.readings[i]
			if last.at.Sub(from.at) < least-time.Second/2 {
				continue
			}
			d, err := last.stats.Since(from.stats)
			if err != nil {
				break // the loader has begun again
			}
			if d.Yielded > 1 {
				return d, from
			}
			break
		}
	}
	return last.stats, reading{}
}

func (w *Watched) momentOf(now time.Time, s stats.Snapshot, from reading) *Moment {
	last := w.readings[len(w.readings)-1]
	began := from.at
	if began.IsZero() {
		began = w.began
	}
	seconds := now.Sub(began).Seconds()
	m := &Moment{
		ID: w.id, Name: w.name, Program: cut(w.loader.Program, 80), PID: w.loader.PID, Rank: w.loader.Rank, Ranks: max(1, w.loader.Ranks),
		Time: now.UnixMilli(), Running: brief(now.Sub(w.began).Seconds()), Window: brief(seconds),
		Sentence: stats.Verdict(s), Helps: cut(stats.Helps(s), mostText),
		Progress: last.progress, Waits: w.waits.of(now), Cores: s.Resources.Cores,
		Lost: w.lost, Replaced: w.replaced, Failures: append([]Failure{}, w.failures...), Notes: append([]Note{}, w.notes...),
	}
	slices.Reverse(m.Failures)
	slices.Reverse(m.Notes)
	if st := last.stats.Stalled; st != nil {
		m.Stalled = cut(st.Report, mostReport)
	}
	m.Progress.Batches = w.loader.Batches
	if w.loader.Epochs != nil {
		m.Progress.Epochs = *w.loader.Epochs
	}
	m.Loop = loopOf(s, last.progress, from.progress, seconds)
	m.Stages, m.Limits = stagesOf(s, last.stats)
	m.Memory, m.Processes = memoryOf(s.Memory), processesOf(s.Resources)
	return m
}

func loopOf(s stats.Snapshot, now, before Progress, seconds float64) Loop {
	l := Loop{Samples: perSecond(now.Samples-before.Samples, seconds), Batches: perSecond(now.Given-before.Given, seconds)}
	main := min(s.Main, s.Waited)
	wait := s.Waited - main
	if s.Loop > 0 {
		l.Share = brief(min(1, wait.Seconds()/s.Loop.Seconds()))
		l.MainShare = brief(min(1-l.Share, main.Seconds()/s.Loop.Seconds()))
	}
	if s.Yielded > 0 {
		l.Wait = brief(wait.Seconds() / float64(s.Yielded))
		l.Main = brief(main.Seconds() / float64(s.Yielded))
		l.Step = brief(max(0, s.Loop-s.Waited).Seconds() / float64(s.Yielded))
	}
	return l
}

// mostReport bounds the report of a stall in bytes.
const mostReport = 2 << 10

// mostStages are shown.
const mostStages = 24

// stagesOf returns the stages of a window, with the counts since the start, and the one
// that limits.
func stagesOf(s, whole stats.Snapshot) (all []Stage, limits int) {
	index := func(name string) int {
		return slices.IndexFunc(s.Stages, func(t pipe.StageStats) bool { return t.Name == name })
	}
	limits = index(stats.Limits(s))
	if limits >= mostStages || limits < 0 && !loopLimitsIn(s) {
		limits = unclear
	}

	all = []Stage{}
	for i, t := range s.Stages {
		if len(all) == mostStages {
			break
		}
		shares := t.Shares()
		one := Stage{
			Name: cut(stats.ShortName(t.Name), 60), Kind: t.Kind, Workers: t.Workers, Rate: perSecond(t.In, s.Elapsed.Seconds()),
			Bytes: perSecond(t.Bytes, s.Elapsed.Seconds()), Busy: brief(shares.Busy), Starved: brief(shares.Starved),
			Blocked: brief(shares.Blocked), Gated: brief(shares.Gated), To: unclear,
			Typical: brief(t.P50.Seconds()), Slow: brief(t.P99.Seconds()),
		}
		if one.Name != t.Name {
			one.Full = cut(t.Name, 160)
		}
		if i < len(whole.Stages) {
			one.In, one.Out, one.Lost = whole.Stages[i].In, whole.Stages[i].Out, whole.Stages[i].Lost
		}
		for _, q := range s.Queues {
			if q.From == t.Name {
				one.To, one.Ready, one.Room = index(q.To), brief(q.Mean), q.Cap
			}
		}
		all = append(all, one)
	}
	return all, limits
}

// loopLimitsIn reports whether the loop limits, as the sentence says it: by its steps, or
// by those with where="main", which are among its waits there.
func loopLimitsIn(s stats.Snapshot) bool {
	if s.Yielded <= 1 || s.Loop <= 0 || stats.Limits(s) != "" {
		return false
	}
	wait := s.Waited - s.Handed
	return float64(wait) < 0.1*float64(s.Loop) || s.Main > wait/2
}

func memoryOf(m stats.Memory) Memory {
	out := Memory{Used: m.Used, Limit: m.Limit, Leased: m.Batches.Leased, Slots: m.Batches.Slots}
	for _, p := range m.Purposes {
		if p.Used > 0 && len(out.Purposes) < mostNotes {
			if out.Purposes == nil {
				out.Purposes = map[string]int64{}
			}
			out.Purposes[cut(p.Name, 40)] = p.Used
		}
	}
	return out
}

// mostProcesses are shown, by their names.
const mostProcesses = 8

func processesOf(r stats.Resources) []Process {
	all := []Process{}
	for _, p := range r.Processes {
		name := cut(stats.ShortName(p.Name), 60)
		i := slices.IndexFunc(all, func(q Process) bool { return q.Name == name })
		if i < 0 {
			if len(all) == mostProcesses {
				continue
			}
			i, all = len(all), append(all, Process{Name: name})
		}
		all[i].Count++
		if r.Elapsed > 0 {
			all[i].Cores += p.CPU().Seconds() / r.Elapsed.Seconds()
		}
		if p.Resident != nil {
			all[i].Resident += *p.Resident
		}
	}
	for i := range all {
		all[i].Cores = brief(all[i].Cores)
	}
	return all
}

// limitNumber is a moment's limit as points of the history have it.
func (w *Watched) limitNumber(m *Moment) int16 {
	if m.Limits < 0 || m.Limits >= len(m.Stages) {
		return int16(max(unclear, min(m.Limits, loopLimits)))
	}
	return w.history.number(m.Stages[m.Limits].Name)
}

// steadyLimit tells when another part limits, once it has done so for some time.
type steadyLimit struct {
	is, next string
	seen     int
}

// steady is the number of moments after which a limit counts.
const steady = 5

func (l *steadyLimit) see(m *Moment) (changed bool, text string) {
	now := ""
	switch {
	case m.Limits >= 0 && m.Limits < len(m.Stages):
		now = m.Stages[m.Limits].Name
	case m.Limits == loopLimits:
		now = "your loop"
	}
	if now == "" || now == l.is {
		l.next, l.seen = "", 0
		return false, ""
	}
	if now != l.next {
		l.next, l.seen = now, 0
	}
	if l.seen++; l.seen < steady {
		return false, ""
	}
	was := l.is
	l.is, l.next, l.seen = now, "", 0
	if was == "" {
		return true, "the limit is " + now
	}
	return true, "the limit moved from " + was + " to " + now
}

func perSecond(n int64, seconds float64) float64 {
	if seconds <= 0 {
		return 0
	}
	return brief(float64(n) / seconds)
}
