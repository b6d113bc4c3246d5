package av

// Packet is one packet of a stream: where it is in the file, and when what it holds is
// decoded and displayed. One packet is one frame.
type Packet struct {
	Offset   int64 // in the file
	PTS, DTS int64 // in the stream's time base, as its container says
	Size     int32 // bytes
	Duration uint32
	Key      bool // decoding can begin here
	Discard  bool // it is decoded for others' sake, but no frame of the stream: an edit list cut it
}

// End returns the offset after the packet's last byte.
func (p *Packet) End() int64 { return p.Offset + int64(p.Size) }
