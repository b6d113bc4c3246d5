package live

import (
	"context"
	"sync"
	"time"
)

// Sample is a sample of a batch that a loader has just made.
type Sample struct {
	Key    string  `json:"key"` // empty: samples have none
	Epoch  int     `json:"epoch"`
	Batch  int64   `json:"batch"` // its number in the epoch
	Fields []Field `json:"fields"`
}

// Field is a field of a sample: an image, a wave, or a text.
type Field struct {
	Name    string    `json:"name"`
	Type    string    `json:"type"` // such as float32 [3, 224, 224]
	Picture []byte    `json:"picture,omitempty"`
	Low     []float64 `json:"low,omitempty"` // the least of each part of a wave, between -1 and 1
	High    []float64 `json:"high,omitempty"`
	Text    string    `json:"text,omitempty"`
}

// Step is a sample after a step of a pipeline, with the fields that it has changed.
type Step struct {
	Name   string `json:"name"`
	Sample Sample `json:"sample"`
	Why    string `json:"why,omitempty"` // why there is none
}

// latest keeps the newest sample of a loader for a second: however many browsers look, it
// is asked for one no more often.
type latest struct {
	mu   sync.Mutex
	last Sample    // guarded by mu
	has  bool      // guarded by mu
	at   time.Time // guarded by mu
}

// mostWaiting bounds the wait for the next batch. Then the last sample is shown again.
const mostWaiting = 1500 * time.Millisecond

// of returns the newest sample; false: there is none.
func (n *latest) of(ctx context.Context, read func(context.Context) (Sample, error), every time.Duration) (Sample, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.has && time.Since(n.at) < every {
		return n.last, true
	}
	ctx, cancel := context.WithTimeout(ctx, mostWaiting)
	defer cancel()
	if s, err := read(ctx); err == nil {
		n.last, n.has = s, true
	}
	n.at = time.Now()
	return n.last, n.has
}
