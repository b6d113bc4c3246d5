package stats

import (
	"fmt"
	"slices"
	"time"

	"github.com/headrace/headrace/pipe"
)

// Snapshot is all that is counted of a loader: the engine's numbers, and those of the
// memory around it.
type Snapshot struct {
	pipe.Stats
	Memory    Memory     `json:"memory"`
	Decoder   string     `json:"decoder"` // what decodes images; "": nothing does
	Resources Resources  `json:"resources"`
	Functions []Function `json:"functions,omitempty"` // of Python

	DamagedFrames int64  `json:"damaged_frames,omitempty"` // of videos, that were kept
	DamagedAudio  int64  `json:"damaged_audio,omitempty"`  // recordings that were read so
	Shards        Shards `json:"shards,omitzero"`

	Handed   time.Duration `json:"handed_ns"`         // of Waited, what taking over batches took that were ready
	Main     time.Duration `json:"main_ns,omitempty"` // of Waited, what functions of whole batches took that the consumer itself calls
	Consumer string        `json:"-"`                 // what it is called in sentences; "": "The consumer"
}

// Function counts the work of a Python function's workers.
type Function struct {
	Stage    string        `json:"stage"`   // its step
	Within   string        `json:"within"`  // the stage that it runs in, which several may have in common
	Calls    int64         `json:"calls"`   // that have come back
	Time     time.Duration `json:"time_ns"` // that they took, as workers measured it
	Packs    int64         `json:"packs"`   // that they have travelled in
	BytesIn  int64         `json:"bytes_in"`
	BytesOut int64         `json:"bytes_out"`
	Restarts int64         `json:"restarts"`          // processes that have taken the place of others
	PIDs     []int         `json:"pids"`              // of those that run now
	Spawned  string        `json:"spawned,omitempty"` // why they were started one by one, instead of forked from one that has imported their modules
}

// Since returns the counts since an earlier snapshot. Amounts held now, such as memory,
// stay as they are. It fails if the other is not an earlier snapshot of the same loader.
func (s Snapshot) Since(earlier Snapshot) (Snapshot, error) {
	if err := follows(s.Stats, earlier.Stats); err != nil {
		return Snapshot{}, err
	}
	s.Stats, s.Resources = s.Stats.Minus(earlier.Stats), s.Resources.Minus(earlier.Resources)
	s.Handed -= earlier.Handed
	s.Main -= earlier.Main
	s.DamagedFrames -= earlier.DamagedFrames
	s.DamagedAudio -= earlier.DamagedAudio
	s.Shards.Read -= earlier.Shards.Read
	s.Shards.Used -= earlier.Shards.Used
	s.Functions = slices.Clone(s.Functions)
	for i := range min(len(s.Functions), len(earlier.Functions)) {
		f, before := &s.Functions[i], earlier.Functions[i]
		f.Calls, f.Packs, f.BytesIn = f.Calls-before.Calls, f.Packs-before.Packs, f.BytesIn-before.BytesIn
		f.Time -= before.Time
		f.BytesOut, f.Restarts = f.BytesOut-before.BytesOut, f.Restarts-before.Restarts
	}
	return s, nil
}

// follows tells why numbers cannot be later ones of the same loader.
func follows(later, earlier pipe.Stats) error {
	if len(earlier.Stages) > len(later.Stages) || len(earlier.Queues) > len(later.Queues) {
		return fmt.Errorf("they have %d stages and %d queues, and there are %d and %d", len(earlier.Stages), len(earlier.Queues), len(later.Stages), len(later.Queues))
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

// Shards counts the bytes read from shards. If samples share a compressed block, more is
// read than they use; compression makes it less.
type Shards struct {
	Read int64 `json:"read_bytes"`
	Used int64 `json:"used_bytes"` // by samples: their fields
}

// Memory is the byte budget and the pool of batches.
type Memory struct {
	Limit    int64     `json:"limit"` // 0: there is no budget
	Used     int64     `json:"used"`
	Peak     int64     `json:"peak"`
	Purposes []Purpose `json:"purposes"`
	Batches  Batches   `json:"batches"`
}

// Purpose names a use of the budget's bytes.
type Purpose struct {
	Name string `json:"name"`
	Used int64  `json:"used"`
	Peak int64  `json:"peak"`
}

// Batches counts the memory of finished batches by owner.
type Batches struct {
	Slots    int   `json:"slots"`    // of the pool
	Leased   int   `json:"leased"`   // held by the consumer
	Unpooled int   `json:"unpooled"` // of these, made because the consumer held all of the pool
	Bytes    int64 `json:"bytes"`    // of all
}

// Document is a snapshot with its text, as it is sent to a client.
type Document struct {
	Snapshot
	Verdict string `json:"verdict"` // the sentence that says what limits
	Limits  string `json:"limits"`  // the stage that it names; empty where it names none
	Text    string `json:"text"`
}

// Report returns the counts with their text. Empty lists are never null in JSON.
func Report(s Snapshot) Document {
	d := Document{s, Verdict(s), Limits(s), Text(s)}
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
