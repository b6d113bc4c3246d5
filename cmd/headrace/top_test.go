package main

import (
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/headrace/headrace/live"
)

// shownLoader is one of which top has all to say.
func shownLoader() *live.Moment {
	return &live.Moment{
		ID: "7-1", Name: "train", Program: "train.py", PID: 7, Rank: 1, Ranks: 2, Running: 75, Window: 10, Limits: 1,
		Sentence: "Your training loop waits for data 62 % of the time. " +
			"The bottleneck is decode_image+…+batch: its 12 workers are busy 98 % of the time.",
		Helps:    "What would help: 24 cores instead of 12; 7,900 samples/s instead of 4,310.",
		Stalled:  "nothing has moved for 75 s; the stage decode has not finished \"a\x1b[2Jb.jpg\"\nand more",
		Loop:     live.Loop{Samples: 4310, Batches: 67.3, Share: 0.5, MainShare: 0.12, Wait: 0.0074, Main: 0.0018, Step: 0.0057},
		Progress: live.Progress{Epoch: 1, Epochs: 90, Batch: 812, Batches: 2502},
		Waits:    live.Waits{Count: 9, Typical: 0.001, Slow: 0.1, Longest: 2},
		Stages: []live.Stage{
			{Name: "read", Workers: 12, Rate: 4310, Busy: 0.06, Blocked: 0.94, Typical: 96e-6, Slow: 0.0041, To: 1, Ready: 11.6, Room: 12},
			{Name: "decode_image+…+batch with a long name", Workers: 12, Rate: 4310, Busy: 0.66, Gated: 0.32, Starved: 0.004,
				Slow: 0.0062, Typical: 0.0017, Lost: 3, To: -1, Ready: 0.2, Room: 2},
		},
		Memory: live.Memory{Used: 412 << 20, Limit: 2 << 30, Leased: 2, Slots: 5}, Cores: 8,
		Processes: []live.Process{{Name: "engine", Cores: 7.6, Resident: 1 << 30}, {Name: "trainer", Cores: 0.4, Resident: 3 << 30}},
		Lost:      3, Failures: []live.Failure{{Key: "a\x1b]0;owned\x07.jpg", Stage: "decode_image", Error: "cut off", Epoch: 1}},
		Notes: []live.Note{{Code: "limit", Text: "the limit moved from read to decode"}},
	}
}

// TestTop: all of it in lines of 80 characters, none of which commands the terminal.
func TestTop(t *testing.T) {
	m := shownLoader()
	text := (&topOptions{}).text(newPage(io.Discard), []*live.Moment{m, m, m}, m, nil)
	for _, want := range []string{
		"train  rank 1 of 2  train.py, process 7, 1:15", "epoch 2 of 90  ━━━━━━━━━─", "batch 812 of 2502",
		"The bottleneck is", "24 cores instead of 12; 7,900", "4,310 samples/s, 67.3 batches/s", "Your loop waits 50 % of the time",
		"a step takes 5.7 ms, the steps with where=\"main\" 1.8 ms (12 %), a wait 7.4 ms",
		"▶ decode_image+…+batch", "×12", "████████████████████▒▒▒▒▒▒▒▒▒▒", "busy 66 %, gated 32 %", "3 lost", "0.20 of 2 ready",
		"engine 7.60 cores, 1 GiB", "412 MiB of 2 GiB; 2 of 5 batches held", "✗", "cut off (decode_image, epoch 1)", "the limit moved",
		"2 more: headrace top --all",
	} {
		if !strings.Contains(strings.Join(strings.Fields(text), " "), strings.Join(strings.Fields(want), " ")) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	for line := range strings.Lines(text) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%d characters: %s", n, line)
		}
	}
	if strings.ContainsAny(text, "\x1b\x07") {
		t.Errorf("%q", text)
	}
}

// TestTopOfAll: a line for each loader; ranks that the others wait for are marked.
func TestTopOfAll(t *testing.T) {
	var all []*live.Moment
	for rank, share := range []float64{0.02, 0.45, 0.03} {
		m := shownLoader()
		m.Rank, m.Ranks, m.Loop.Share, m.Loop.MainShare, m.Stalled = rank, 3, share, 0, ""
		all = append(all, m)
	}
	stalled, loop := shownLoader(), shownLoader()
	stalled.Name, stalled.Ranks, loop.Name, loop.Ranks, loop.Stalled, loop.Limits = "val", 1, "test", 1, "", -1
	stalled.Loop.MainShare = 0
	o := topOptions{all: true}
	lines := strings.Split(o.text(newPage(io.Discard), append(all, stalled, loop), nil, nil), "\n")
	for i, want := range []string{"loader", "  test", "  train", "▶ train", "  train", "  val"} {
		if !strings.HasPrefix(lines[i], want) && i > 0 {
			t.Errorf("line %d is %q, want %q", i, lines[i], want)
		}
	}
	if !strings.HasSuffix(lines[1], `your loop (where="main" 12 %)`) || !strings.Contains(lines[3], "1 of 3") ||
		!strings.HasSuffix(lines[5], "stalled") {
		t.Error(strings.Join(lines, "\n"))
	}
}

// TestWhichLoaderTopShows: by name, process, or the first rank.
func TestWhichLoaderTopShows(t *testing.T) {
	a, b, c := shownLoader(), shownLoader(), shownLoader()
	a.Rank, b.Rank, c.Name, c.PID = 1, 0, "val", 8
	for name, want := range map[string]*live.Moment{"": b, "train": b, "val": c, "8": c} {
		if got, err := choose([]*live.Moment{c, a, b}, name); err != nil || got != want {
			t.Errorf("%q: %+v, %v", name, got, err)
		}
	}
	const none = `no loader "test" shows itself: there are train, val`
	if _, err := choose([]*live.Moment{c, a, b}, "test"); err == nil || !strings.Contains(err.Error(), none) {
		t.Error(err)
	}
	if _, err := choose(nil, ""); err == nil || !strings.Contains(err.Error(), "loader(page=True)") {
		t.Error(err)
	}
}

func TestPagePorts(t *testing.T) {
	for text, want := range map[string]pageOptions{
		"": {}, "any": {asked: true}, "7070": {asked: true, port: 7070},
	} {
		o := pageOptions{text: text}
		if err := o.parse(); err != nil || o.asked != want.asked || o.port != want.port {
			t.Errorf("%q: %+v, %v", text, o, err)
		}
	}
	t.Setenv("HEADRACE_PAGE", "yes")
	if err := new(pageOptions).parse(); err == nil || !strings.Contains(err.Error(), `HEADRACE_PAGE is "yes": must be a port`) {
		t.Error(err)
	}
}
