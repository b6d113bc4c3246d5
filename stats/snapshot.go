package stats

import (
	"fmt"
	"slices"
	"time"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/observe/counters"
)

// Snapshot is all that is counted of a loader: the engine's numbers, and those of the
// memory around it. Tags describe each number, for package pipe/observe/counters: Since
// and the tables in docs/protocol.md are made from these.
type Snapshot struct {
	pipe.Stats
	Memory    Memory     `json:"memory" doc:"the byte budget and the pool of batches"`
	Decoder   string     `json:"decoder" doc:"the decoder of images; empty: there is none"`
	Resources Resources  `json:"resources" doc:"what the processes used since a batch was first asked for"`
	Functions []Function `json:"functions,omitempty" doc:"the functions of Python"`
	Mixes     []Mix      `json:"mixes,omitempty" doc:"the mixes of sources"`
	Hosts     []Host     `json:"hosts,omitempty" doc:"the hosts of stores since the loader was opened, with requests of other loaders"`
	Stalled   *Stalled   `json:"stalled,omitempty" doc:"a stall that goes on; absent: there is none"`
	Stalls    int64      `json:"stalls,omitempty" counter:"stalls" doc:"stalls that were reported"`
	Tuned     []Tuned    `json:"tuned,omitempty" doc:"the changes of workers that the loader made by itself"`

	Counts

	Handed time.Duration `json:"handed_ns" counter:"ns" doc:"time of 'waited_ns' in which batches that were ready were handed over"`

	Main time.Duration `json:"main_ns,omitempty" counter:"ns" doc:"time of 'waited_ns' in functions that the consumer calls with batches"`

	Consumer string `json:"-"` // what it is called in sentences; "": "The consumer"
}

// Counts are the counters of steps, which add to them with package sync/atomic. A line
// here puts a counter into JSON, [Snapshot.Since] and the docs. [Text] tells those that
// are not in a struct of their own: "Damaged frames that were kept: 3."
type Counts struct {
	DamagedFrames int64 `json:"damaged_frames,omitempty" counter:"frames" doc:"damaged frames that were kept"`
	DamagedAudio  int64 `json:"damaged_audio,omitempty" counter:"recordings" doc:"damaged recordings that were kept"`

	Shards Shards `json:"shards,omitzero" doc:"the bytes of shards"`
}

// Stalled describes a run in which nothing moves, from the report of its stall until
// something moves again.
type Stalled struct {
	For    time.Duration `json:"for_ns" gauge:"ns" doc:"time in which nothing has moved"`
	Report string        `json:"report" doc:"for people: the samples that each stage has not finished, and since when"`
}

// Shards counts the bytes read from shards. If samples share a compressed block, more is
// read than they use; compression makes it less.
type Shards struct {
	Read int64 `json:"read_bytes" counter:"bytes" doc:"bytes read from shards"`
	Used int64 `json:"used_bytes" counter:"bytes" doc:"bytes of the fields of samples"`
}

// Function counts the work of a Python function's workers.
type Function struct {
	Stage    string        `json:"stage" doc:"the step of the function"`
	Within   string        `json:"within" doc:"the stage that it runs in, which several may have in common"`
	Calls    int64         `json:"calls" counter:"calls" doc:"calls that have come back"`
	Time     time.Duration `json:"time_ns" counter:"ns" doc:"time of these calls, as workers measured it"`
	Packs    int64         `json:"packs" counter:"packs" doc:"messages that the calls have travelled in"`
	BytesIn  int64         `json:"bytes_in" counter:"bytes" doc:"bytes sent to workers; the first function of a stage has those of all"`
	BytesOut int64         `json:"bytes_out" counter:"bytes" doc:"bytes that workers sent back, likewise"`
	Restarts int64         `json:"restarts" counter:"processes" doc:"processes that have replaced others"`
	PIDs     []int         `json:"pids" doc:"the processes that run now"`
	Given    bool          `json:"given,omitempty" doc:"the step says how many workers it has, or a set of workers does"`
	Here     bool          `json:"here,omitempty" doc:"threads of the program make the calls, or its executor"`
	Spawned  string        `json:"spawned,omitempty" doc:"why workers were not forked from one that has imported their modules"`

	Imported   []string      `json:"imported,omitempty" doc:"modules imported before workers were forked, listed by the first function"`
	ImportTime time.Duration `json:"import_ns,omitempty" gauge:"ns" doc:"how long that took"`
	ImportCPU  time.Duration `json:"import_cpu_ns,omitempty" gauge:"ns" doc:"its CPU time"`
}

// Mix tells how often each source of a mix came.
type Mix struct {
	Step    string  `json:"step" doc:"the step"`
	Sources []Mixed `json:"sources" doc:"its sources"`
}

// Mixed is a source of a mix.
type Mixed struct {
	Name  string  `json:"name" doc:"the name of the source"`
	Asked float64 `json:"asked" gauge:"shares" doc:"its share of the turns, as asked; under a schedule at first; 0 with choose"`
	Given int64   `json:"given" counter:"items" doc:"samples that came of it on this rank, with those on their way"`
}

// Since returns the counts since an earlier snapshot. Amounts held now, such as memory,
// stay as they are. It fails if the other is not an earlier snapshot of the same loader.
func (s Snapshot) Since(earlier Snapshot) (Snapshot, error) {
	if err := follows(s.Stats, earlier.Stats); err != nil {
		return Snapshot{}, err
	}
	d := s
	counters.Add(&d, -1, earlier)
	d.Stalled = s.Stalled // as it is now, even if there was none then

	// Lists have their own rules for what belongs together.
	d.Stats, d.Resources = s.Stats.Minus(earlier.Stats), s.Resources.Minus(earlier.Resources)
	d.Functions = slices.Clone(s.Functions)
	for i := range min(len(s.Functions), len(earlier.Functions)) {
		counters.Add(&d.Functions[i], -1, earlier.Functions[i])
	}
	d.Mixes = slices.Clone(s.Mixes)
	for i := range min(len(s.Mixes), len(earlier.Mixes)) {
		d.Mixes[i].Sources = slices.Clone(s.Mixes[i].Sources)
		for k := range min(len(s.Mixes[i].Sources), len(earlier.Mixes[i].Sources)) {
			counters.Add(&d.Mixes[i].Sources[k], -1, earlier.Mixes[i].Sources[k])
		}
	}
	d.Hosts = hostsSince(s.Hosts, earlier.Hosts)
	return d, nil
}

// follows tells why numbers cannot be later ones of the same loader.
func follows(later, earlier pipe.Stats) error {
	if len(earlier.Stages) > len(later.Stages) || len(earlier.Queues) > len(later.Queues) {
		return fmt.Errorf("they have %d stages and %d queues, and there are %d and %d", len(earlier.Stages),
			len(earlier.Queues), len(later.Stages), len(later.Queues))
	}
	for i, t := range earlier.Stages {
		now := later.Stages[i]
		if t.Name != now.Name {
			return fmt.Errorf("they have a stage %q where there is %q", t.Name, now.Name)
		}
		if t.In > now.In || t.Out > now.Out {
			return fmt.Errorf("the stage %q had taken %d items then, and %d by now", t.Name, t.In, now.In)
		}
	}
	for i, q := range earlier.Queues {
		if now := later.Queues[i]; q.From != now.From || q.To != now.To {
			return fmt.Errorf("they have a queue from %q to %q where there is one from %q to %q", q.From, q.To, now.From, now.To)
		}
	}
	if earlier.Elapsed > later.Elapsed {
		return fmt.Errorf("they are of %v, and by now it is %v", earlier.Elapsed, later.Elapsed)
	}
	return nil
}

// Memory is the byte budget and the pool of batches.
type Memory struct {
	Limit    int64     `json:"limit" gauge:"bytes" doc:"the byte budget; 0: there is none"`
	Used     int64     `json:"used" gauge:"bytes" doc:"bytes of it in use"`
	Peak     int64     `json:"peak" gauge:"bytes" doc:"the most bytes that were ever in use"`
	Purposes []Purpose `json:"purposes" doc:"the uses of the budget"`
	Batches  Batches   `json:"batches" doc:"the memory of finished batches"`
}

// Purpose names a use of the budget's bytes.
type Purpose struct {
	Name string `json:"name" doc:"what the bytes are for"`
	Used int64  `json:"used" gauge:"bytes" doc:"bytes in use"`
	Peak int64  `json:"peak" gauge:"bytes" doc:"the most bytes that were ever in use"`
}

// Batches counts the memory of finished batches by owner.
type Batches struct {
	OnDemand bool  `json:"on_demand,omitempty" doc:"none is begun before the consumer asks for it, as with prefetch 0"`
	Slots    int   `json:"slots" gauge:"batches" doc:"batches that the pool has room for"`
	Leased   int   `json:"leased" gauge:"batches" doc:"batches held by the consumer"`
	Unpooled int   `json:"unpooled" gauge:"batches" doc:"of these, batches made because the consumer held all of the pool"`
	Bytes    int64 `json:"bytes" gauge:"bytes" doc:"bytes of all batches"`
}

// Document is a snapshot with its text, as it is sent to a client.
type Document struct {
	Snapshot
	Verdict string `json:"verdict" doc:"the sentence that says what limits"`
	Limits  string `json:"limits" doc:"the stage that it names; empty: none"`
	Advice  []Gain `json:"advice" doc:"the changes that would make the loop faster, the greatest gain first"`
	Text    string `json:"text" doc:"the table for people"`
}

// Report returns the counts with their text. Empty lists are never null in JSON.
func Report(s Snapshot) Document {
	d := Document{s, Verdict(s), Limits(s), Advice(s), Text(s)}
	d.Stages, d.Queues = orEmpty(d.Stages), orEmpty(d.Queues)
	d.Memory.Purposes, d.Resources.Processes = orEmpty(d.Memory.Purposes), orEmpty(d.Resources.Processes)
	return d
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
