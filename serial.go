package headrace

// serial keeps the gate at one operation until a place is passed: after a crash with several suspects, the next crash has one.
type serial struct {
	gate  *Gate
	until *Until // nil: nothing is asked for
}

func (s *serial) begin(gate *Gate, until *Until) {
	if until != nil {
		s.gate, s.until = gate, until
		gate.hold()
	}
}

// reached opens the gate again once all before the place is finished.
func (s *serial) reached(at State) {
	if s.until != nil && s.until.Passed(at) {
		s.end()
	}
}

func (s *serial) end() {
	if s.until != nil {
		s.gate.release()
		s.until = nil
	}
}
