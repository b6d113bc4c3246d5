package progress

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"strings"
	"sync"
)

// A TurnLog remembers which inputs a merge took that goes by the sums of lengths, and
// how much each turn gave. A state has the sums before the first turn that is not
// finished, and the turns from there to the last one that is: after a resume these are
// taken again without asking, for some of their items do not come again. If shares
// change, the amounts due until then are taken off the sums, for a state that begins
// after that turn.
type TurnLog struct {
	mu    sync.Mutex
	low   int64 // the first of turns
	given []int64
	turns []Taken

	changes []change // in their order, none before the first of turns
}

// change has the amounts that inputs were due when shares changed, before a turn.
type change struct {
	turn int64
	due  []int64
}

// Taken is a turn: the input, and how much it gave.
type Taken struct {
	Input int
	Given int64
}

// NewTurnLog goes on with the memory of an epoch whose turns below low are
// finished, or begins one if the Memory is zero.
func NewTurnLog(inputs int, low int64, m Memory) (*TurnLog, error) {
	l := &TurnLog{low: low, given: make([]int64, inputs)}
	wrong := errors.New("pipe: the state to resume from does not say what each input of a mix has given, or of others")
	if m.Groups == 0 && low == 0 {
		return l, nil
	}
	text, err := base64.RawStdEncoding.DecodeString(strings.Trim(m.State, `"`))

	// After an error all that follows is 0.
	next := func() int64 {
		n, size := binary.Varint(text)
		if size <= 0 || n > MaxPos || n < -MaxPos {
			n, err, size = 0, wrong, 0
			text = nil
		}
		text = text[size:]
		return n
	}
	if err != nil || next() != int64(inputs) || m.Groups < low || m.Groups-low > int64(len(m.State)) {
		return nil, wrong
	}

	for i := range l.given {
		l.given[i] = next()
	}
	for range m.Groups - low {
		t := Taken{int(next()), next()}
		if t.Input < 0 || t.Input >= inputs || t.Given < 0 {
			return nil, wrong
		}
		l.turns = append(l.turns, t)
	}
	if err != nil || len(text) > 0 {
		return nil, wrong
	}
	return l, nil
}

// Given returns the sums that inputs had given before the first turn of the log.
func (l *TurnLog) Given() []int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]int64{}, l.given...)
}

// Begin notes what inputs are thought to have given before the first turn.
func (l *TurnLog) Begin(given []int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	copy(l.given, given)
}

// At is the turn of that number; ok is false if it was not taken yet.
func (l *TurnLog) At(turn int64) (t Taken, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if turn < l.low || turn >= l.low+int64(len(l.turns)) {
		return t, false
	}
	return l.turns[turn-l.low], true
}

// Add notes the next turn.
func (l *TurnLog) Add(t Taken) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turns = append(l.turns, t)
}

// Set notes again a turn that At had.
func (l *TurnLog) Set(turn int64, t Taken) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if turn >= l.low {
		l.turns[turn-l.low] = t
	}
}

// Change notes the amounts that inputs were due before a turn, from which on shares are
// others.
func (l *TurnLog) Change(turn int64, due []int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changes = append(l.changes, change{turn, due})
}

// forget sums up the turns below low, which are finished.
func (l *TurnLog) forget(low int64) {
	n := int(low - l.low)
	for _, t := range l.turns[:n] {
		l.given[t.Input] += t.Given
	}
	l.turns = append(l.turns[:0], l.turns[n:]...)
	l.low = low
	for len(l.changes) > 0 && l.changes[0].turn < low {
		for i, n := range l.changes[0].due {
			l.given[i] -= n
		}
		l.changes = l.changes[1:]
	}
}

// finished implements [TurnMemory]. It sums up many at once.
func (l *TurnLog) finished(low int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if low-l.low >= mostLogged {
		l.forget(low)
	}
}

// mostLogged is how many finished turns a log keeps.
const mostLogged = 1024

// memory implements [TurnMemory].
func (l *TurnLog) memory(done Progress) Memory {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(done.Low)
	end := done.Low
	if n := len(done.Ahead); n > 0 {
		end = done.Ahead[n-1][1]
	}
	if end == 0 {
		return Memory{}
	}
	text := binary.AppendVarint(nil, int64(len(l.given)))
	for _, n := range l.given {
		text = binary.AppendVarint(text, n)
	}
	for _, t := range l.turns[:end-done.Low] {
		text = binary.AppendVarint(binary.AppendVarint(text, int64(t.Input)), t.Given)
	}
	return Memory{Groups: end, State: `"` + base64.RawStdEncoding.EncodeToString(text) + `"`} // JSON, as of others
}
