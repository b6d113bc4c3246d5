package arena

// Stats counts the slots of an arena by what they are. It is plain data, for JSON.
type Stats struct {
	Slots    int   `json:"slots"` // of the pool
	Free     int   `json:"free"`
	Filling  int   `json:"filling"`
	Sealed   int   `json:"sealed"`
	Leased   int   `json:"leased"`   // to the consumer, wherever it is
	Unpooled int   `json:"unpooled"` // of the above, those outside the pool
	Bytes    int64 `json:"bytes"`    // of all segments
}

// Stats returns the numbers as they are now. The pool counts as free before it is made.
func (a *Arena) Stats() Stats {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := Stats{
		Slots:    a.slots,
		Free:     a.count[free],
		Filling:  a.count[filling],
		Sealed:   a.count[sealed],
		Leased:   a.heldSlots(),
		Unpooled: a.unpooled,
		Bytes:    a.bytes,
	}
	if a.pool == nil && !a.closed {
		s.Free = a.slots
	}
	return s
}
