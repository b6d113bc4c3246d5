package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Version is the protocol's number. Both ends name theirs in [Hello]; they must be equal.
const Version = 2

// HeaderSize is the length of a frame's header in bytes.
const HeaderSize = 16

// MaxPayload is the largest payload of a frame in bytes: room for a recipe that lists
// ten million files.
const MaxPayload = 1 << 30

// Kind says what a frame is.
type Kind uint16

// The kinds of frames, as docs/protocol.md numbers them.
const (
	KindHello   Kind = 1
	KindSession Kind = 2
	KindOpen    Kind = 3
	KindStart   Kind = 4
	KindNext    Kind = 5
	KindStats   Kind = 6
	KindClose   Kind = 7
	KindGather  Kind = 8
	KindWorkers Kind = 9
	KindTrace   Kind = 10
	KindIO      Kind = 11
	KindTask    Kind = 12
	KindShare   Kind = 13
	KindPreview Kind = 14
	KindHere    Kind = 15
	KindGiver   Kind = 16

	KindOpened     Kind = 17
	KindSegment    Kind = 18
	KindBatch      Kind = 19
	KindEpoch      Kind = 20
	KindError      Kind = 21
	KindLost       Kind = 22
	KindNote       Kind = 23
	KindStatistics Kind = 24
	KindClosed     Kind = 25
	KindGathered   Kind = 26
	KindStages     Kind = 27
	KindTraced     Kind = 28
	KindRows       Kind = 29
	KindLog        Kind = 30
	KindDone       Kind = 31
	KindPreviewed  Kind = 32

	// Between the engine and its workers.
	KindSetup   Kind = 33
	KindReady   Kind = 34
	KindPack    Kind = 35
	KindResults Kind = 36
	KindRoom    Kind = 37
	KindPull    Kind = 38
	KindFork    Kind = 39
	KindExited  Kind = 40
	KindForget  Kind = 41
	KindLetGo   Kind = 42

	// Between the client and the engine, again.
	KindPage  Kind = 43
	KindPaged Kind = 44
)

var kindNames = map[Kind]string{
	KindHello: "HELLO", KindSession: "SESSION", KindOpen: "OPEN", KindStart: "START", KindNext: "NEXT",
	KindStats: "STATS", KindClose: "CLOSE",
	KindGather: "GATHER", KindGathered: "GATHERED", KindWorkers: "WORKERS", KindStages: "STAGES",
	KindTrace: "TRACE", KindTraced: "TRACED", KindRows: "ROWS",
	KindOpened: "OPENED", KindSegment: "SEGMENT", KindBatch: "BATCH", KindEpoch: "EPOCH", KindError: "ERROR", KindLost: "LOST",
	KindIO: "IO", KindTask: "TASK", KindShare: "SHARE", KindDone: "DONE",
	KindSetup: "SETUP", KindReady: "READY", KindPack: "PACK", KindResults: "RESULTS", KindRoom: "ROOM", KindPull: "PULL",
	KindFork: "FORK", KindExited: "EXITED", KindForget: "FORGET", KindLetGo: "LETGO",
	KindPreview: "PREVIEW", KindHere: "HERE", KindGiver: "GIVER", KindPreviewed: "PREVIEWED",
	KindPage: "PAGE", KindPaged: "PAGED",
	KindNote: "NOTE", KindStatistics: "STATS", KindClosed: "CLOSED", KindLog: "LOG",
}

// String returns the kind's name in docs/protocol.md.
func (k Kind) String() string {
	if s, ok := kindNames[k]; ok {
		return s
	}
	return fmt.Sprintf("kind %d", uint16(k))
}

// descriptors is how many descriptors a frame of this kind brings.
func (k Kind) descriptors() int {
	switch k {
	case KindSession, KindSegment, KindIO, KindShare, KindHere, KindGiver:
		return 1
	}
	return 0
}

// ErrProtocol marks bytes that the protocol does not allow. The connection is of no use
// afterwards.
var ErrProtocol = errors.New("wire: protocol violated")

// ErrCut says that a frame came whose descriptor did not: this process has all that it
// may have. The connection goes on after that frame.
var ErrCut = errors.New("wire: a descriptor could not be received")

// ErrGone says that the connection has ended otherwise than between two frames.
var ErrGone = errors.New("wire: the connection has ended")

// Header is before every payload.
type Header struct {
	Length uint32 // bytes of payload
	Kind   Kind
	Stream uint32 // which START the frame belongs to; 0 on the control connection
	Seq    uint32 // counts the frames of one direction
}

// AppendHeader appends the 16 bytes of h to dst.
func AppendHeader(dst []byte, h Header) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, h.Length)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(h.Kind))
	dst = binary.LittleEndian.AppendUint16(dst, 0)
	dst = binary.LittleEndian.AppendUint32(dst, h.Stream)
	return binary.LittleEndian.AppendUint32(dst, h.Seq)
}

// ParseHeader reads the header at the start of b. Errors wrap [ErrProtocol].
func ParseHeader(b []byte) (Header, error) {
	if len(b) < HeaderSize {
		return Header{}, fmt.Errorf("%w: header of %d bytes", ErrProtocol, len(b))
	}
	h := Header{
		Length: binary.LittleEndian.Uint32(b),
		Kind:   Kind(binary.LittleEndian.Uint16(b[4:])),
		Stream: binary.LittleEndian.Uint32(b[8:]),
		Seq:    binary.LittleEndian.Uint32(b[12:]),
	}
	if _, ok := kindNames[h.Kind]; !ok {
		return Header{}, fmt.Errorf("%w: unknown frame %v", ErrProtocol, h.Kind)
	}
	if flags := binary.LittleEndian.Uint16(b[6:]); flags != 0 {
		return Header{}, fmt.Errorf("%w: %v with flags %#x", ErrProtocol, h.Kind, flags)
	}
	if h.Length > MaxPayload {
		return Header{}, fmt.Errorf("%w: %v of %d bytes; at most %d are taken", ErrProtocol, h.Kind, h.Length, MaxPayload)
	}
	return h, nil
}
