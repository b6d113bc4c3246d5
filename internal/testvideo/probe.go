package testvideo

import (
	"encoding/json"
	"errors"
	"os/exec"
	"sync"
	"testing"
)

// Probed is what ffprobe says of a file.
type Probed struct {
	Streams []ProbedStream
	Packets []ProbedPacket
	Frames  []ProbedFrame
}

// ProbedStream is what it says of a stream.
type ProbedStream struct {
	Index          int
	CodecName      string `json:"codec_name"`
	CodecType      string `json:"codec_type"`
	CodecTag       string `json:"codec_tag_string"`
	Width, Height  int
	HasBFrames     int    `json:"has_b_frames"`
	Aspect         string `json:"sample_aspect_ratio"`
	PixFmt         string `json:"pix_fmt"`
	ColorRange     string `json:"color_range"`
	ColorSpace     string `json:"color_space"`
	ColorTransfer  string `json:"color_transfer"`
	ColorPrimaries string `json:"color_primaries"`
	SampleRate     string `json:"sample_rate"`
	Channels       int
	ID             string
	TimeBase       string `json:"time_base"`
	ConfigSize     int    `json:"extradata_size"`
	ConfigHash     string `json:"extradata_hash"` // CRC32
	Tags           map[string]string
	SideData       []struct{ Rotation int } `json:"side_data_list"`
	Disposition    struct {
		Cover int `json:"attached_pic"`
	}
}

// ProbedPacket is a packet, as its demuxer gives it.
type ProbedPacket struct {
	Stream   int    `json:"stream_index"`
	PTS, DTS *int64 // nil: none
	Duration int64
	Size     string
	Pos      string
	Flags    string // K key, D discard
}

// ProbedFrame is a frame, as its decoder gives it.
type ProbedFrame struct {
	Stream  int    `json:"stream_index"`
	PTS     *int64 `json:"best_effort_timestamp"`
	Key     int    `json:"key_frame"`
	Picture string `json:"pict_type"` // I, P, B
}

// Probe asks ffprobe what is in a file that [File] has made, and decodes it to see the
// frames.
func Probe(t testing.TB, name string) *Probed {
	t.Helper()
	path := File(t, name)
	probing.Lock()
	defer probing.Unlock()
	if p := probed[name]; p != nil {
		return p
	}
	p := ProbeFile(t, path)
	probed[name] = p
	return p
}

// ProbeFile asks about any file.
func ProbeFile(t testing.TB, path string) *Probed {
	t.Helper()
	out, err := exec.Command("ffprobe", "-v", "quiet", "-of", "json", "-threads", "1", "-show_data_hash",
		"crc32", "-show_streams", "-show_packets", "-show_frames", path).Output()
	if err != nil {
		t.Fatalf("ffprobe %s: %v", path, err)
	}
	p := new(Probed)
	if err := p.unmarshal(out); err != nil {
		t.Fatal(err)
	}
	return p
}

var (
	probing sync.Mutex
	probed  = make(map[string]*Probed)
)

// unmarshal reads the JSON of ffprobe, where packets and frames are in one list.
func (p *Probed) unmarshal(text []byte) error {
	var all struct {
		Streams []ProbedStream
		Both    []json.RawMessage `json:"packets_and_frames"`
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	p.Streams = all.Streams
	for _, raw := range all.Both {
		var kind struct{ Type string }
		var packet ProbedPacket
		var frame ProbedFrame
		if err := errors.Join(json.Unmarshal(raw, &kind), json.Unmarshal(raw, &packet), json.Unmarshal(raw, &frame)); err != nil {
			return err
		}
		switch kind.Type {
		case "packet":
			p.Packets = append(p.Packets, packet)
		case "frame":
			p.Frames = append(p.Frames, frame)
		}
	}
	return nil
}
