package headrace

// serial keeps the gate at one operation until a place is passed: after a crash with several suspects, the next crash has one.
type serial struct {
	gate  *Gate
	until *[2]int64 // epoch, position; nil: nothing is asked for
}

func (s *serial) begin(gate *Gate, until *[2]int64) {
	if until != nil {
		s.gate, s.until = gate, until
		gate.hold()
	}
}

// passed opens the gate again once every position before the place is finished.
func (s *serial) passed(epoch int, pos int64) {
	if s.until != nil && (int64(epoch) > s.until[0] || int64(epoch) == s.until[0] && pos >= s.until[1]) {
		s.end()
	}
}

func (s *serial) end() {
	if s.until != nil {
		s.gate.release()
		s.until = nil
	}
}
