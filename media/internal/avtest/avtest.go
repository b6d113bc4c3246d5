package avtest

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/headrace/headrace/internal/tier"
)

// Library has this process decode with the machine's FFmpeg, by a shim that is built if
// need be. The test is skipped on machines that have no FFmpeg to build it with.
func Library(t testing.TB) {
	t.Helper()
	tier.StartsProcesses(t)
	if err := library(); err != nil {
		t.Skip(err)
	}
}

// library sets HEADRACE_FFMPEG for the whole process: what it names is opened once.
var library = sync.OnceValue(func() error {
	if os.Getenv("HEADRACE_FFMPEG") != "" {
		return nil
	}
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	// Results are cached for as long as files are the same that the test has looked at.
	sources, _ := filepath.Glob(filepath.Join(root, "media/ffmpeg/shim/*"))
	for _, name := range append(sources, filepath.Join(root, "scripts/ffmpeg.sh")) {
		if _, err := os.Stat(name); err != nil {
			return err
		}
	}
	build := exec.Command(filepath.Join(root, "scripts/ffmpeg.sh"))
	build.Env = append(os.Environ(), "CC=") // that of a sanitizer's build is none for it
	if said, err := build.CombinedOutput(); err != nil || len(said) > 0 {
		return errors.New(string(said))
	}
	return os.Setenv("HEADRACE_FFMPEG", filepath.Join(root, "python/src/headrace/_av/system"))
})

func moduleRoot() (string, error) {
	_, file, _, _ := runtime.Caller(0)
	folder, err := os.Getwd()
	if filepath.IsAbs(file) { // not so where paths are trimmed
		folder = filepath.Dir(file)
	}
	for ; err == nil && folder != "/"; folder = filepath.Dir(folder) {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			return folder, nil
		}
	}
	return "", errors.New("no go.mod above the test")
}

// FFmpeg runs the command, and returns what it wrote to its output. The test is skipped
// where the command is not installed, or lacks an encoder.
func FFmpeg(t testing.TB, args ...string) []byte {
	t.Helper()
	return run(t, "ffmpeg", append([]string{"-nostdin", "-v", "error", "-threads", "1", "-y"}, args...))
}

func run(t testing.TB, program string, args []string) []byte {
	t.Helper()
	tier.StartsProcesses(t)
	path, err := exec.LookPath(program)
	if err != nil {
		t.Skipf("%s is not installed: apt-get install -y ffmpeg", program)
	}
	var said bytes.Buffer
	c := exec.Command(path, args...)
	c.Stderr = &said
	out, err := c.Output()
	if strings.Contains(said.String(), "Unknown encoder") {
		t.Skipf("this ffmpeg cannot make it: %s", said.String())
	}
	if err != nil {
		t.Fatalf("%s %s: %v: %s", program, strings.Join(args, " "), err, said.String())
	}
	return out
}

// Make makes a recording in a folder of the test. Args are between the command and the
// name of the file.
func Make(t testing.TB, name string, args ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	FFmpeg(t, append(args, path)...)
	return path
}

// Moving are arguments for a moving image of a size, so many frames of it.
func Moving(size string, frames int) []string {
	return []string{"-f", "lavfi", "-i", "testsrc2=s=" + size + ":r=25", "-frames:v", strconv.Itoa(frames)}
}

// Raw decodes the first stream of images with the command: all frames, one after the
// other, in the format that the codec gives, with the arithmetic of all processors.
func Raw(t testing.TB, path string) []byte {
	t.Helper()
	return FFmpeg(t, "-idct", "simple", "-i", path, "-map", "0:v:0", "-vsync", "passthrough", "-f", "rawvideo", "-")
}

// A Recording is what ffprobe tells of one stream.
type Recording struct {
	Codec         string
	Config        []byte
	Width, Height int
	Rate          int
	Channels      int
	Reorder       int
	Packets       []Packet
}

// A Packet is one of the stream, in the order of the file.
type Packet struct {
	Data []byte
	Key  bool
	PTS  *int64 // in units of the stream; nil if there is none
}

// Read demuxes one stream with ffprobe, as in "v:0".
func Read(t testing.TB, path, stream string) Recording {
	t.Helper()
	out := run(t, "ffprobe", []string{"-v", "error", "-select_streams", stream, "-show_streams",
		"-show_packets", "-show_data", "-of", "json", path})
	var told struct {
		Streams []struct {
			Codec         string `json:"codec_name"`
			Config        string `json:"extradata"`
			Width, Height int
			Rate          string `json:"sample_rate"`
			Channels      int
			Reorder       int `json:"has_b_frames"`
		}
		Packets []struct {
			Data, Flags string
			PTS         *int64
		}
	}
	if err := json.Unmarshal(out, &told); err != nil || len(told.Streams) != 1 {
		t.Fatalf("ffprobe %s: %v, %d streams", path, err, len(told.Streams))
	}
	s := told.Streams[0]
	rate, _ := strconv.Atoi(s.Rate)
	r := Recording{Codec: s.Codec, Config: dumped(t, s.Config), Width: s.Width, Height: s.Height,
		Rate: rate, Channels: s.Channels, Reorder: s.Reorder}
	for _, p := range told.Packets {
		r.Packets = append(r.Packets, Packet{Data: dumped(t, p.Data), Key: strings.HasPrefix(p.Flags, "K"), PTS: p.PTS})
	}
	return r
}

// dumped reads ffprobe's dump: lines of an address, up to 16 bytes in pairs, and their
// letters.
func dumped(t testing.TB, text string) []byte {
	t.Helper()
	var all []byte
	for line := range strings.Lines(text) {
		_, line, ok := strings.Cut(line, ": ")
		if !ok {
			continue
		}
		digits, _, _ := strings.Cut(line, "  ")
		digits = strings.ReplaceAll(line[:min(len(digits), 40)], " ", "")
		b, err := hex.DecodeString(digits)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		all = append(all, b...)
	}
	return all
}
