package slices

// Droppable returns a function that reports whether no other frame needs a packet, so
// that a decoder that never sees it gives the same pixels for all the others. It is nil
// for codecs of which no packet can be dropped, or of which that cannot be seen.
//
// The codec has FFmpeg's name, and config is libavcodec's extradata. The function may
// remember what packets before have said: use one for each run of packets.
func Droppable(codec string, config []byte) func(packet []byte) bool {
	switch codec {
	case "h264":
		return unitsOf(avcLength(config)).all(avcUnneeded)
	case "hevc":
		layers := hevcLayers(config)
		return unitsOf(hevcLength(config)).all(func(unit []byte) verdict { return hevcUnneeded(unit, layers) })
	case "mpeg1video", "mpeg2video":
		return startCodes.all(mpeg2Unneeded)
	case "mpeg4":
		return startCodes.all(mpeg4Unneeded)
	case "av1":
		s := new(av1Sequence)
		s.readAll(av1Config(config))
		return s.droppable
	}
	return nil
}

// A verdict is what one unit of a packet says.
type verdict int

const (
	neutral  verdict = iota // nothing: it is no picture
	unneeded                // it is of a picture that no other needs
	needed                  // others need it
)

// A splitter finds the units of a packet: it returns the first, and what is after it; ok
// is false if there is none, or it is damaged.
type splitter func(packet []byte) (unit, rest []byte, ok bool)

// all makes a function that wants at least one unit that is not needed, and none that is.
func (s splitter) all(judge func(unit []byte) verdict) func(packet []byte) bool {
	return func(packet []byte) bool {
		droppable := false
		for len(packet) > 0 {
			unit, rest, ok := s(packet)
			if !ok {
				return false
			}
			switch judge(unit) {
			case needed:
				return false
			case unneeded:
				droppable = true
			}
			packet = rest
		}
		return droppable
	}
}
