package serve

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/arena"
	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/internal/phototest"
	_ "github.com/headrace/headrace/shard/formats" // one of them is read
	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/stats"
	"github.com/headrace/headrace/wire"
)

func TestAnEpochArrivesWhole(t *testing.T) {
	leak.Check(t)
	c := open(t, recipeFor(phototest.Folder(t, 22)), `{"epochs":1}`)
	if c.opened.Rows != 4 || c.opened.BatchesPerEpoch != 6 || !slices.Equal(c.opened.Classes, []string{"class0", "class1"}) {
		t.Fatalf("%+v", c.opened)
	}
	batches, _, e := c.epoch()
	seen := map[string]bool{}
	for i, b := range batches {
		if b.Step != int64(i) || b.Epoch != 0 {
			t.Errorf("batch %d says epoch %d, step %d", i, b.Epoch, b.Step)
		}
		epoch, position, had := int64(0), int64(4*(i+1)), int64(i+1)
		if i == 5 {
			epoch, position, had = 1, 0, 0 // after an epoch's last batch comes the next epoch
		}
		want := headrace.State{Epoch: int(epoch), Batches: had,
			Sources: map[string]headrace.SourceState{"files": {Samples: 22, Position: position}}}
		if d := cmp.Diff(want, c.place(b)); d != "" {
			t.Errorf("after batch %d: %s", i, d)
		}
		for row, key := range b.Text[0] {
			seen[key] = true
			if !strings.HasSuffix(key, ".jpg") {
				t.Errorf("batch %d, row %d has key %q", i, row, key)
			}
		}
	}
	if len(seen) != 22 || e != (wire.Epoch{Batches: 6, Samples: 22, Last: true}) {
		t.Fatalf("%d different keys in %+v", len(seen), e)
	}
	c.send(wire.KindClose, struct{}{})
	var last struct {
		Stages []struct {
			Name string
			In   int64
		}
		Text string
	}
	c.decode(c.expect(wire.KindClosed), &last)
	if len(last.Stages) != 3 || last.Stages[2].In != 22 || !strings.Contains(last.Text, "decode_image") {
		t.Fatalf("the last statistics are %+v", last)
	}
}

// An engine that ran ahead of its client without bound would fill memory, or wait for
// the socket.
func TestNoMoreThanPrefetchBatchesAreSentAhead(t *testing.T) {
	leak.Check(t)
	c := open(t, recipeFor(phototest.Folder(t, 40)), `{"epochs":1,"prefetch":3}`)
	for range 3 {
		c.batch()
	}
	c.quiet(200 * time.Millisecond)
}

func TestTheNextEpochIsMadeAhead(t *testing.T) {
	leak.Check(t)
	c := open(t, recipeFor(phototest.Folder(t, 8)), `{"epochs":2}`)
	for range 2 {
		c.batch()
		c.next(wire.Next{Taken: 1})
	}
	var e wire.Epoch
	c.decode(c.expect(wire.KindEpoch), &e)
	if e.Last {
		t.Fatal("epoch 0 of 2 was called the last")
	}
	if b := c.batch(); b.Epoch != 1 || b.Step != 0 {
		t.Fatalf("epoch %d, step %d", b.Epoch, b.Step)
	}
}

func TestAStateOfAnotherRecipeIsRefused(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 8)
	c := open(t, recipeFor(root), `{"epochs":1}`)
	state := strings.Replace(string(c.opened.State), `"samples":8`, `"samples":9`, 1)
	c.stream = 2
	c.send(wire.KindStart, map[string]any{"state": json.RawMessage(state)})
	for {
		if f := c.receive(); f.Kind == wire.KindError {
			if !bytes.Contains(f.Payload, []byte("9 samples")) {
				t.Fatalf("%s", f.Payload)
			}
			return
		}
	}
}

func TestABadSampleStopsTheStreamAndNamesItself(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 12)
	phototest.Spoil(t, root, "005.jpg")
	c := open(t, recipeFor(root), `{"epochs":1}`)
	for {
		f := c.receive()
		if f.Kind == wire.KindBatch {
			c.next(wire.Next{Taken: 1})
			continue
		}
		var e wire.Error
		c.decode(f, &e)
		if f.Kind != wire.KindError || e.Code != wire.CodeSample || !strings.HasSuffix(string(e.Key), `005.jpg"`) || e.Stage == "" || *e.Index < 0 {
			t.Fatalf("%v %s", f.Kind, f.Payload)
		}
		return
	}
}

func TestSkippedSamplesAreReportedBeforeTheBatchThatCountsThem(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 22)
	phototest.Spoil(t, root, "005.jpg")
	phototest.Spoil(t, root, "014.jpg")
	c := open(t, recipeFor(root), `{"epochs":1,"on_error":"skip","max_errors":2}`)
	var lost []int64
	rows := 0
	for {
		f := c.receive()
		switch f.Kind {
		case wire.KindLost:
			var l wire.Lost
			c.decode(f, &l)
			if lost = append(lost, l.Position); l.Source != "files" {
				t.Errorf("lost of the source %q", l.Source)
			}
		case wire.KindBatch:
			b := c.parse(f)
			rows += int(b.Rows)
			for _, r := range c.place(b).Sources["files"].Ahead {
				for p := r[0]; p < r[1]; p++ {
					if !slices.Contains(lost, p) {
						t.Errorf("position %d counts as finished before its loss was told", p)
					}
				}
			}
			c.next(wire.Next{Taken: 1, Released: []wire.Slot{{Segment: b.Segment, Slot: b.Slot}}})
		case wire.KindEpoch:
			var e wire.Epoch
			c.decode(f, &e)
			if len(lost) != 2 || rows != 20 || e.Lost != 2 || e.Batches != 5 {
				t.Fatalf("%d rows, lost %v, %+v", rows, lost, e)
			}
			return
		default:
			t.Fatalf("%v %s", f.Kind, f.Payload)
		}
	}
}

func TestQuarantinedSamplesAreNotTried(t *testing.T) {
	leak.Check(t)
	c := open(t, recipeFor(phototest.Folder(t, 12)), `{"epochs":1,"on_error":"skip"}`)
	var state map[string]any
	json.Unmarshal(c.opened.State, &state)
	state["quarantine"] = []int{3}
	c.stream = 2
	c.send(wire.KindStart, map[string]any{"state": state, "serial_until": wire.Until{Positions: map[string]int64{"files": 12}}})
	for {
		f := c.receive()
		if f.Stream == 1 {
			continue
		}
		switch f.Kind {
		case wire.KindBatch:
			c.next(wire.Next{Taken: 1})
		case wire.KindLost:
			var l wire.Lost
			c.decode(f, &l)
			if l.Index != 3 || !strings.Contains(l.Error, "quarantine") {
				t.Fatalf("%+v", l)
			}
		case wire.KindEpoch:
			var e wire.Epoch
			c.decode(f, &e)
			if e.Samples != 11 || e.Lost != 1 {
				t.Fatalf("%+v", e)
			}
			return
		default:
			t.Fatalf("%v %s", f.Kind, f.Payload)
		}
	}
}

func TestAConsumerThatHoldsEverythingIsTold(t *testing.T) {
	leak.Check(t)
	c := open(t, recipeFor(phototest.Folder(t, 60)), `{"epochs":1,"hold_limit":26000}`) // eight batches of 3,200 bytes
	held := []wire.Slot{}
	unpooled := 0
	for {
		c.next(wire.Next{Waiting: true})
		f := c.receive()
		if f.Kind == wire.KindError {
			var e wire.Error
			c.decode(f, &e)
			if e.Code != wire.CodeHeld || unpooled == 0 {
				t.Fatalf("%s after %d unpooled batches", f.Payload, unpooled)
			}
			break
		}
		if f.Kind != wire.KindBatch {
			t.Fatalf("%v %s", f.Kind, f.Payload)
		}
		b := c.parse(f)
		if b.Flags&wire.Unpooled != 0 {
			unpooled++
		}
		held = append(held, wire.Slot{Segment: b.Segment, Slot: b.Slot})
		c.next(wire.Next{Taken: 1})
	}
	// Having let go, it goes on.
	c.next(wire.Next{Waiting: true, Released: held})
	c.batch()
}

func TestAClientThatVanishesLeavesNothing(t *testing.T) {
	leak.Check(t)
	before := arena.Live()
	c := open(t, recipeFor(phototest.Folder(t, 60)), `{}`)
	c.batch()
	c.conn.Close()
	for deadline := time.Now().Add(10 * time.Second); arena.Live() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d segments stay", arena.Live()-before)
		}
	}
}

// TestHostileSessions feeds what no client of ours sends. Each gets an error and costs
// nobody else anything.
func TestHostileSessions(t *testing.T) {
	leak.Check(t)
	good := recipeFor(phototest.Folder(t, 4))
	for name, c := range map[string]struct {
		kind    wire.Kind
		payload string
		code    wire.Code
	}{
		"before OPEN":       {wire.KindNext, "", wire.CodeProtocol},
		"no JSON":           {wire.KindOpen, "{", wire.CodeProtocol},
		"no recipe":         {wire.KindOpen, `{"recipe":{},"config":{}}`, wire.CodeRecipe},
		"unknown operation": {wire.KindOpen, `{"recipe":{"headrace":1,"steps":["explode"]},"config":{}}`, wire.CodeRecipe},
		"unknown setting":   {wire.KindOpen, `{"recipe":` + good + `,"config":{"wrokers":2}}`, wire.CodeRecipe},
		"negative rank":     {wire.KindOpen, `{"recipe":` + good + `,"config":{"rank":-1}}`, wire.CodeRecipe},
		"skip with ranks":   {wire.KindOpen, `{"recipe":` + good + `,"config":{"on_error":"skip","world_size":2}}`, wire.CodeRecipe},
		"nothing to stack": {wire.KindOpen,
			`{"recipe":{"headrace":1,"steps":[{"files":{"pattern":"/"}},{"batch":{"size":2}}]},"config":{}}`, wire.CodeRecipe},
		"budget too small": {wire.KindOpen, `{"recipe":` + good + `,"config":{"memory":1000}}`, wire.CodeRecipe},
		"missing folder":   {wire.KindOpen, `{"recipe":` + recipeFor("/no/such/folder") + `,"config":{}}`, wire.CodeSource},
		"position beyond end": {wire.KindOpen, `{"recipe":` + good +
			`,"config":{},"state":{"sources":{"files":{"position":99}}}}`, wire.CodeRecipe},
	} {
		t.Run(name, func(t *testing.T) {
			conn := connect(t)
			if err := conn.Send(c.kind, 1, []byte(c.payload)); err != nil {
				t.Fatal(err)
			}
			for {
				f, err := conn.Receive()
				if err != nil {
					t.Fatal(err)
				}
				if f.Kind != wire.KindError {
					continue
				}
				var e wire.Error
				if err := json.Unmarshal(f.Payload, &e); err != nil || e.Code != c.code {
					t.Fatalf("%s, expected the code %q", f.Payload, c.code)
				}
				return
			}
		})
	}
}

// The end of a file and the end of a connection are the same errors, of which only one
// says that nobody listens any more.
func TestATruncatedSourceIsToldToItsClient(t *testing.T) {
	leak.Check(t)
	t.Setenv(index.Variable, t.TempDir())
	path := filepath.Join(t.TempDir(), "cut.jsonl.gz")
	var whole bytes.Buffer
	w := gzip.NewWriter(&whole)
	w.Write(bytes.Repeat([]byte(`{"a":1}`+"\n"), 100))
	w.Close()
	if err := os.WriteFile(path, whole.Bytes()[:whole.Len()/2], 0o600); err != nil {
		t.Fatal(err)
	}
	conn := connect(t)
	recipe := fmt.Sprintf(`{"recipe":{"headrace":1,"steps":[{"read":{"from":%q}},{"batch":{"size":2}}]},"config":{}}`, path)
	if err := conn.Send(wire.KindOpen, 1, []byte(recipe)); err != nil {
		t.Fatal(err)
	}
	f, err := conn.Receive()
	if err != nil {
		t.Fatalf("the session ended without a word: %v", err)
	}
	if f.Kind != wire.KindError || !bytes.Contains(f.Payload, []byte("cut.jsonl.gz at byte 0: cut off")) {
		t.Fatalf("%v %s", f.Kind, f.Payload)
	}
}

func TestReleasingWhatWasNeverSentEndsTheSession(t *testing.T) {
	leak.Check(t)
	c := open(t, recipeFor(phototest.Folder(t, 40)), `{}`)
	c.next(wire.Next{Released: []wire.Slot{{Segment: 7, Slot: 7}}})
	for {
		f, err := c.conn.Receive()
		if err != nil {
			t.Fatal("the session ended without an error: ", err)
		}
		if f.Kind == wire.KindError {
			return
		}
		if f.Descriptor >= 0 {
			os.NewFile(uintptr(f.Descriptor), "").Close()
		}
	}
}

// These tests are a program without C, whose slow decoder nobody should have to
// discover by measuring.
func TestADecoderInGoIsTold(t *testing.T) {
	leak.Check(t)
	c := open(t, recipeFor(phototest.Folder(t, 8)), `{"epochs":1}`)
	c.epoch()
	if len(c.notes) != 1 || !strings.Contains(c.notes[0], "built without C") {
		t.Fatalf("notes: %q", c.notes)
	}
}

// What the client's own clock says of its loop is in the answer, and the verdict is
// about that: not about when the engine had nothing to send.
func TestTheClientTellsOfItsLoop(t *testing.T) {
	c := open(t, recipeFor(phototest.Folder(t, 22)), `{"epochs":1}`)
	for range 2 {
		c.batch()
	}
	loop := wire.Loop{Batches: 2, Start: 300 * time.Millisecond, Loop: time.Second, Waited: 93 * time.Millisecond, Main: time.Millisecond}
	check := func(f wire.Frame, verdict string) {
		t.Helper()
		var d stats.Document
		c.decode(f, &d)
		told := wire.Loop{Batches: d.Yielded, Start: d.Start, Loop: d.Loop, Waited: d.Waited, Main: d.Main}
		if told != loop || !strings.HasPrefix(d.Verdict, verdict) {
			t.Errorf("%+v: %q", told, d.Verdict)
		}
	}
	c.send(wire.KindStats, wire.Stats{Loop: &loop})
	check(c.expect(wire.KindStatistics), "Your training loop is the bottleneck: it waits for data only 9 % of the time.")

	loop = wire.Loop{Batches: 5, Start: 400 * time.Millisecond, Loop: 2 * time.Second, Waited: 593 * time.Millisecond}
	c.send(wire.KindClose, wire.Close{Loop: &loop})
	check(c.expect(wire.KindClosed), "Your training loop waits for data 30 % of the time.")

	// Since an earlier answer there is what both say, less that.
	c = open(t, recipeFor(phototest.Folder(t, 22)), `{"epochs":1}`)
	for range 2 {
		c.batch()
	}
	loop = wire.Loop{Batches: 2, Loop: time.Second}
	c.send(wire.KindStats, wire.Stats{Loop: &loop})
	since := bytes.Clone(c.expect(wire.KindStatistics).Payload)
	more := wire.Loop{Batches: 6, Start: time.Second, Loop: 3 * time.Second, Waited: time.Second}
	c.send(wire.KindStats, wire.Stats{Loop: &more, Since: since})
	loop = wire.Loop{Batches: 4, Start: time.Second, Loop: 2 * time.Second, Waited: time.Second}
	check(c.expect(wire.KindStatistics), "Your training loop waits for data 50 % of the time.")
}
