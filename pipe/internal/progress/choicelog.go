package progress

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"sync"
)

// A TurnMemory remembers of the turns of a merge more than which of them are finished.
type TurnMemory interface {
	// finished tells it that all turns below low are.
	finished(low int64)
	// memory returns its part of a state, when these turns are finished.
	memory(done Progress) Memory
}

// A ChoiceLog remembers which inputs were chosen for the turns of a merge, several at a
// time, and the chooser's own state after these. A state has the turns from the first
// unfinished one up to the turn that the chooser goes on with: after a resume these are
// not chosen again, so a choice may depend on anything.
type ChoiceLog struct {
	mu     sync.Mutex
	low    int64 // the first of chosen
	chosen []int
	ends   []choiceEnd // in order: the turns that the chooser was asked for, at or after low
}

// choiceEnd is the turn that the chooser is asked for next, and its state there.
type choiceEnd struct {
	turn int64
	then string
}

// choiceState is the log in a state.
type choiceState struct {
	Chosen []byte          `json:"chosen,omitempty"` // inputs, as varints
	Then   json.RawMessage `json:"then,omitempty"`
}

// NewChoiceLog goes on with the memory of an epoch, with the turns below low finished, or
// begins one if the Memory is zero.
func NewChoiceLog(inputs int, low int64, m Memory) (*ChoiceLog, error) {
	l := &ChoiceLog{low: low, ends: []choiceEnd{{turn: m.Groups, then: ""}}}
	wrong := errors.New("pipe: the state to resume from does not say which inputs were chosen, or of others")
	if m.Groups == 0 && low == 0 {
		return l, nil
	}

	var s choiceState
	if m.Groups < low || json.Unmarshal([]byte(m.State), &s) != nil {
		return nil, wrong
	}
	for at := s.Chosen; len(at) > 0; {
		input, size := binary.Uvarint(at)
		if size <= 0 || input >= uint64(inputs) {
			return nil, wrong
		}
		l.chosen, at = append(l.chosen, int(input)), at[size:]
	}

	// Without a choice for each turn, others would be made a second time.
	if int64(len(l.chosen)) != m.Groups-low {
		return nil, wrong
	}
	l.ends[0].then = string(s.Then)
	return l, nil
}

// At returns the input of a turn; ok is false if it was not chosen yet.
func (l *ChoiceLog) At(turn int64) (input int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := turn - l.low; i >= 0 && i < int64(len(l.chosen)) {
		return l.chosen[i], true
	}
	return 0, false
}

// Then returns the chooser's state after all turns so far; "": it is at the beginning.
func (l *ChoiceLog) Then() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ends[len(l.ends)-1].then
}

// Add notes the inputs of the next turns, and the chooser's state after them.
func (l *ChoiceLog) Add(inputs []int, then string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.chosen = append(l.chosen, inputs...)
	l.ends = append(l.ends, choiceEnd{l.low + int64(len(l.chosen)), then})
}

// forget drops the turns below low.
func (l *ChoiceLog) forget(low int64) {
	l.chosen = append(l.chosen[:0], l.chosen[low-l.low:]...)
	l.low = low
	gone := 0
	for gone+1 < len(l.ends) && l.ends[gone].turn < low {
		gone++
	}
	l.ends = append(l.ends[:0], l.ends[gone:]...)
}

// finished implements [TurnMemory]. It drops many at once.
func (l *ChoiceLog) finished(low int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if low-l.low >= mostLogged {
		l.forget(low)
	}
}

// memory implements [TurnMemory]. The chooser goes on after the turns that it was asked
// for together with the last one that is finished.
func (l *ChoiceLog) memory(done Progress) Memory {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(done.Low)
	last := done.Low
	if n := len(done.Ahead); n > 0 {
		last = done.Ahead[n-1][1]
	}
	if last == 0 {
		return Memory{}
	}

	end := l.ends[0]
	for _, next := range l.ends[1:] {
		if end.turn >= last {
			break
		}
		end = next
	}

	s := choiceState{Then: json.RawMessage(end.then)}
	for _, input := range l.chosen[:end.turn-l.low] {
		s.Chosen = binary.AppendUvarint(s.Chosen, uint64(input))
	}
	text, err := json.Marshal(s)
	if err != nil {
		text = nil // what it says is no JSON: a state that cannot be gone on with
	}
	return Memory{Groups: end.turn, State: string(text)}
}
