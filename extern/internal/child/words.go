package child

import (
	"bytes"
	"strings"
	"sync"
)

// words keeps the end of what was written.
type words struct {
	mu   sync.Mutex
	text []byte
}

const keptText = 4 << 10

func (w *words) add(line []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(append(w.text, line...), '\n')
	if len(w.text) > 2*keptText {
		w.text = append(w.text[:0], w.text[len(w.text)-keptText:]...)
	}
}

func (w *words) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := w.text
	if len(text) > keptText {
		text = text[len(text)-keptText:]
		if _, rest, ok := bytes.Cut(text, []byte("\n")); ok {
			text = rest
		}
	}
	return strings.ToValidUTF8(strings.TrimSpace(string(text)), "\uFFFD")
}
