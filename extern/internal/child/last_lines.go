package child

import (
	"bytes"
	"strings"
	"sync"
)

// lastLines keeps the end of a text.
type lastLines struct {
	mu   sync.Mutex
	text []byte
}

const keptText = 4 << 10

func (w *lastLines) add(line []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(append(w.text, line...), '\n')
	if len(w.text) > 2*keptText {
		w.text = append(w.text[:0], w.text[len(w.text)-keptText:]...)
	}
}

func (w *lastLines) String() string {
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
