package headrace

import "headrace/pipe"

// serial holds the gate at one operation until a place is passed: after a crash with several suspects, the next crash has one.
type serial struct {
	gate  *pipe.Gate
	limit int       // of the gate before
	until *[2]int64 // epoch, position
}

func (s *serial) begin(gate *pipe.Gate, until *[2]int64) {
	if until == nil {
		return
	}
	s.gate, s.limit, s.until = gate, gate.Limit(), until
	gate.SetLimit(1)
}

// passed opens the gate again once every position before the place is finished.
func (s *serial) passed(now State) {
	if s.until == nil {
		return
	}
	if epoch, pos := int64(now.Epoch), now.Position; epoch > s.until[0] || epoch == s.until[0] && pos >= s.until[1] {
		s.end()
	}
}

func (s *serial) end() {
	if s.until != nil {
		s.gate.SetLimit(s.limit)
		s.until = nil
	}
}
