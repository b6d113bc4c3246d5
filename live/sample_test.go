package live

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestLatest: however many browsers ask, a loader is asked for one sample a second, and
// one that makes no more has the last.
func TestLatest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n latest
		var read atomic.Int64
		sample := func(ctx context.Context) (Sample, error) {
			if i := read.Add(1); i != 2 {
				return Sample{Key: "a.jpg", Batch: i}, nil
			}
			<-ctx.Done()
			return Sample{}, ctx.Err()
		}
		ask := func(batch, reads int64) {
			if s, ok := n.of(t.Context(), sample, time.Second); !ok || s.Batch != batch || read.Load() != reads {
				t.Errorf("batch %d after %d readings, want %d, %d", s.Batch, read.Load(), batch, reads)
			}
		}
		var asking sync.WaitGroup
		for range 8 {
			asking.Go(func() { ask(1, 1) })
		}
		asking.Wait()
		time.Sleep(time.Second)
		ask(1, 2)
		ask(1, 2)
		time.Sleep(time.Second)
		ask(3, 3)
	})
}

// TestSample: the page has it, and that of another process.
func TestSample(t *testing.T) {
	meet(t)
	_, w, address := open(t, Loader{Name: "train", Stats: counting(), Sample: func(context.Context) (Sample, error) {
		return Sample{Key: "a.jpg", Fields: []Field{{Name: "label", Type: "int64 []", Text: "3"}}}, nil
	}})
	const want = `{"key":"a.jpg","epoch":0,"batch":0,"fields":[{"name":"label","type":"int64 []","text":"3"}]}` + "\n"
	if status, body := get(t, "GET", address+"sample?loader="+w.id, nil); status != 200 || body != want {
		t.Errorf("%d %s", status, body)
	}
	other := newProcess(tick)
	own := other.watch(Loader{Name: "eval", Stats: counting()})
	defer own.Close()
	if s, ok := other.otherSample(t.Context(), w.id); !ok || s.Key != "a.jpg" {
		t.Error(s, ok)
	}
	if s, ok := other.otherSample(t.Context(), own.id); ok {
		t.Error(s)
	}
}

// TestNoSample: a loader that has made no batch yet has none.
func TestNoSample(t *testing.T) {
	meet(t)
	_, w, address := open(t, Loader{Name: "train", Stats: counting(), Sample: func(ctx context.Context) (Sample, error) {
		return Sample{}, errors.New("no batch came")
	}})
	if status, body := get(t, "GET", address+"sample?loader="+w.id, nil); status != 204 || body != "" {
		t.Errorf("%d %s", status, body)
	}
}

// TestSteps: one browser at a time has them drawn, and learns why they are not.
func TestSteps(t *testing.T) {
	meet(t)
	began, end := make(chan bool), make(chan bool)
	fails := atomic.Bool{}
	p, w, address := open(t, Loader{Name: "train", Stats: counting(), Steps: func(_ context.Context, epoch int) ([]Step, error) {
		if fails.Load() {
			return nil, errors.New("it is <b>gone</b>")
		}
		began <- true
		<-end
		return []Step{{Name: "decode_image", Sample: Sample{Key: "a.jpg", Epoch: epoch}}}, nil
	}})
	w.Took(3, 0, 8)
	url := address + "steps?loader=" + w.id
	first := make(chan string)
	go func() {
		_, body := get(t, "GET", url, nil)
		first <- body
	}()
	<-began
	if status, body := get(t, "GET", url, nil); status != 503 {
		t.Errorf("%d %s", status, body)
	}
	end <- true
	if body := <-first; !strings.Contains(body, `"epoch":3`) {
		t.Error(body)
	}
	fails.Store(true)
	if _, body := get(t, "GET", url, nil); !strings.Contains(body, "gone") || strings.Contains(body, "<b>") {
		t.Error(body)
	}
	if _, _, err := p.stepsOf(t.Context(), "0-0"); err == nil {
		t.Error("steps of no loader")
	}
}
