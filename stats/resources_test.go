package stats_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/stats"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// Numbers of an interval are what was counted in it, through JSON as a client has them;
// what is held is of now.
func TestSince(t *testing.T) {
	earlier, later := training(), training()
	earlier.Resources, later.Resources = used(), used()
	later.Elapsed += time.Second
	later.Stages[2].In += 32
	later.Stages[2].Replaced += 2
	later.Yielded++
	later.Resources.Elapsed += time.Second
	later.Resources.Processes[1].User += 2 * time.Second
	later.Resources.Processes[1].Resident = new(int64(7))
	later.Resources.Processes[1].Read = new(*earlier.Resources.Processes[1].Read + 1000)
	later.Resources.Network = &stats.Network{Received: 123456799, Sent: 4}
	late := later.Resources.Processes[0]
	late.PID, late.User = 99, 5*time.Second
	later.Resources.Processes = append(later.Resources.Processes, late)

	text, err := json.Marshal(stats.Report(earlier))
	if err != nil {
		t.Fatal(err)
	}
	var back stats.Snapshot
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	d, err := later.Since(back)
	if err != nil {
		t.Fatal(err)
	}
	if d.Elapsed != time.Second || d.Yielded != 1 || d.Stages[2].In != 32 || d.Stages[2].Replaced != 2 || d.Stages[1].In != 0 || d.Memory.Used != later.Memory.Used {
		t.Errorf("%+v", d.Stats)
	}
	r := d.Resources
	engine := r.Processes[1]
	if r.Elapsed != time.Second || engine.User != 2*time.Second || engine.System != 0 || *engine.Resident != 7 || *engine.Read != 1000 || *engine.ReadDisk != 0 {
		t.Errorf("%+v", r)
	}
	if hidden := r.Processes[4]; hidden.Read != nil || hidden.WrittenDisk != nil {
		t.Errorf("of one that is hidden: %+v", hidden)
	}
	if diff := cmp.Diff(late, r.Processes[5]); diff != "" {
		t.Errorf("one that came later: %s", diff)
	}
	if *r.Network != (stats.Network{Received: 10, Sent: 3}) {
		t.Errorf("%+v", r.Network)
	}
	later.Resources.Network = nil
	if all, err := later.Since(stats.Snapshot{}); err != nil || !cmp.Equal(all, later) {
		t.Errorf("since nothing: %v, %s", err, cmp.Diff(later, all))
	}
}

func TestSinceAnotherLoader(t *testing.T) {
	for said, change := range map[string]func(*stats.Snapshot){
		`a stage "other" where there is "read"`:   func(s *stats.Snapshot) { s.Stages[1].Name = "other" },
		"had taken 4010 items then, and 4009":     func(s *stats.Snapshot) { s.Stages[1].In++ },
		"4 stages and 3 queues":                   func(s *stats.Snapshot) { s.Stages = append(s.Stages, pipe.StageStats{}) },
		`to "files" where there is one from`:      func(s *stats.Snapshot) { s.Queues[1].To = "files" },
		"they are of 3h0m0s, and by now it is 12": func(s *stats.Snapshot) { s.Elapsed = 3 * time.Hour },
	} {
		earlier := training()
		change(&earlier)
		if _, err := training().Since(earlier); err == nil || !strings.Contains(err.Error(), said) {
			t.Errorf("%q: %v", said, err)
		}
	}
}

// A client may send anything instead of earlier statistics.
func FuzzSince(f *testing.F) {
	text, err := json.Marshal(stats.Report(training()))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"stages":[{"name":"files","times":[{"up_to_ns":1,"count":-5}]}],"resources":{"processes":[{"name":"x"}],"elapsed_ns":-1}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var earlier stats.Snapshot
		if json.Unmarshal(text, &earlier) != nil {
			return
		}
		now := training()
		now.Resources = used()
		if d, err := now.Since(earlier); err == nil {
			if _, err := json.Marshal(stats.Report(d)); err != nil {
				t.Error(err)
			}
		}
	})
}

// Where other programs hold the CPUs, no stage looks busy: the verdict says who is.
func TestOtherProgramsAreInTheVerdict(t *testing.T) {
	s := training()
	s.Loop, s.Waited = s.Elapsed, s.Elapsed*9/10
	s.Resources = stats.Resources{Elapsed: 10 * time.Second, Cores: 2,
		Processes: []stats.Process{{Name: "engine", User: 4 * time.Second, System: time.Second}}}
	for _, c := range []struct {
		machine *stats.Machine
		said    string
	}{
		{nil, ""},
		{&stats.Machine{Busy: 20 * time.Second}, "Other programs use 1.5 of the machine's 2 CPUs"},
		{&stats.Machine{Busy: 19 * time.Second, Idle: time.Second}, "Other programs use 1.4 of the machine's 2 CPUs"},
		{&stats.Machine{Busy: 10 * time.Second, Idle: 10 * time.Second}, ""}, // it could have had more
		{&stats.Machine{Busy: 5 * time.Second, Idle: 0}, ""},                 // all of it is the loader's
	} {
		s.Resources.Machine = c.machine
		verdict := stats.Verdict(s)
		if !strings.Contains(verdict, c.said) || strings.Contains(verdict, "Other programs") != (c.said != "") {
			t.Errorf("%+v: %s", c.machine, verdict)
		}
	}
	s.Resources.Machine, s.Waited = &stats.Machine{Busy: 20 * time.Second}, 0
	if verdict := stats.Verdict(s); strings.Contains(verdict, "Other programs") {
		t.Errorf("the consumer limits: %s", verdict)
	}
}

// A source that everything waits for now is what the verdict says, whatever was before:
// not a stage that was busy then.
func TestASourceWithNothingToGiveIsNoBottleneck(t *testing.T) {
	for yielded, before := range map[int64]string{125: "", 0: "Nothing has come out yet. "} {
		s := training()
		s.Yielded, s.Stages[0].Awaited = yielded, 12*time.Second
		want := before + `The loader waits for the source: "files" has given nothing for 12 s.`
		if got := stats.Verdict(s); got != want || stats.Limits(s) != "files" {
			t.Errorf("%s, and limits %q", got, stats.Limits(s))
		}
		s.Stages[0].Awaited = 999 * time.Millisecond // as between two requests
		if got := stats.Verdict(s); strings.Contains(got, "waits for the source") {
			t.Error(got)
		}
	}

	live := training()
	live.Waited, live.Stages = live.Loop, live.Stages[:1]
	live.Stages[0].Busy, live.Stages[0].Blocked = 10*time.Second, 0
	if got := stats.Verdict(live); !strings.Contains(got, "The bottleneck is files: to give the next sample takes it") {
		t.Error(got)
	}
}

// The stage that the verdict names is that of Limits.
func TestLimitsIsTheStageOfTheVerdict(t *testing.T) {
	share := rapid.Int64Range(0, 1<<40)
	rapid.Check(t, func(t *rapid.T) {
		s := training()
		s.Loop = time.Duration(rapid.Int64Range(0, int64(s.Elapsed)).Draw(t, "loop"))
		s.Waited = time.Duration(rapid.Int64Range(0, int64(s.Loop)).Draw(t, "waited"))
		for i := range s.Stages {
			s.Stages[i].Busy, s.Stages[i].Blocked, s.Stages[i].Gated = time.Duration(share.Draw(t, "busy")),
				time.Duration(share.Draw(t, "blocked")), time.Duration(share.Draw(t, "gated"))
		}
		verdict, limits := stats.Verdict(s), stats.Limits(s)
		named := strings.Contains(verdict, "The bottleneck is ") || strings.Contains(verdict, "The CPU is the bottleneck: ")
		if named != (limits != "") || named && !strings.Contains(verdict, " "+stats.ShortName(limits)) {
			t.Fatalf("%q, and %q", verdict, limits)
		}
	})
}
