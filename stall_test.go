package headrace_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/internal/phototest"
)

// hangs is an operation that does not return for some samples.
type hangs struct{}

type hangsIn struct {
	Key string `field:"key"`
}

type hangsOut struct {
	Seen bool `field:"seen"`
}

var hanging struct {
	sync.Mutex
	on   string
	free chan struct{}
}

var registerHangs = sync.OnceValue(func() error {
	return Register("hangs", "Does not return.", func() Operation[hangsIn, hangsOut] { return new(hangs) })
})

func (*hangs) Do(_ context.Context, in hangsIn) (hangsOut, error) {
	hanging.Lock()
	on, free := hanging.on, hanging.free
	hanging.Unlock()
	if strings.HasSuffix(in.Key, on) {
		<-free
	}
	return hangsOut{true}, nil
}

// A run that stands still warns once, with the stage, the sample, and what to do; one
// whose consumer does not ask does not warn.
func TestStallsAreTold(t *testing.T) {
	leak.Check(t)
	if err := registerHangs(); err != nil {
		t.Fatal(err)
	}
	root := phototest.Folder(t, 12)
	hanging.on, hanging.free = "005.jpg", make(chan struct{})
	var l *Loader
	warned := make(chan string, 10)
	warn := func(code, message string) {
		if code == "stall" {
			warned <- message
			if s := l.Stats(); s.Stalled == nil || s.Stalled.Report != message || s.Stalled.For < 100*time.Millisecond || s.Stalls != 1 {
				t.Errorf("statistics tell of the stall: %+v, %d", s.Stalled, s.Stalls)
			}
		}
	}
	r := parseRecipe(t, `{"files":{"pattern":%q,"root":"/","label":"parent"}},"decode_image",{"center_crop":{"size":16}},{"hangs":{}},{"batch":{"size":4}}`, root)
	l = openLoader(t, r, Config{Epochs: new(1), StallAfter: new(0.1)}, Options{Warn: warn})
	time.AfterFunc(time.Second, func() { close(hanging.free) })
	if got := drain(t, l); len(got) != 3 {
		t.Errorf("%d batches", len(got))
	}
	if s := l.Stats(); s.Stalled != nil || s.Stalls != 1 {
		t.Errorf("after the stall statistics tell of it: %+v, %d", s.Stalled, s.Stalls)
	}
	<-time.After(500 * time.Millisecond) // nobody asks
	close(warned)
	var all []string
	for message := range warned {
		all = append(all, message)
	}
	if len(all) != 1 {
		t.Fatalf("%q", all)
	}
	for _, want := range []string{"nothing has moved for 0.1", "and the program waits for a batch; the stage hangs has not finished", `005.jpg" (index 8, for 0.1`, "time_limit", "stall_after", "\nhangs is in headrace_test.(*hangs).Do (stall_test.go:"} {
		if !strings.Contains(all[0], want) {
			t.Errorf("%q is not in %q", want, all[0])
		}
	}
}

// Nobody says anything: 60 seconds. 0 is never.
func TestStallAfter(t *testing.T) {
	for json, want := range map[string]time.Duration{`{}`: 60 * time.Second, `{"stall_after":null}`: 60 * time.Second, `{"stall_after":1.5}`: 1500 * time.Millisecond, `{"stall_after":0}`: 0} {
		c, err := ParseConfig([]byte(json))
		if err != nil {
			t.Fatal(err)
		}
		l := openLoader(t, augmented(t, phototest.Folder(t, 4), `{"size":4}`), c, Options{})
		if s := l.StallWatch(); s.After != want {
			t.Errorf("%s: %v", json, s.After)
		}
	}
	for json, want := range map[string]string{`{"stall_after":-1}`: "stall_after is -1: must be from 0 (never)", `{"stall_after":1e9}`: "must be from 0 (never) to 31536000 seconds", `{"stall_after":"x"}`: "must be a number of seconds"} {
		if _, err := ParseConfig([]byte(json)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", json, err)
		}
	}
}
