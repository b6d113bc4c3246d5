package whole

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace/internal/tier"
	"github.com/headrace/headrace/media"
)

// kind is files of a container: what may be in them, and options of the muxer, of which
// any may be there.
type kind struct {
	muxer, demuxer string
	codecs         []string // arguments, of which one is taken
	options        []string
	live           bool // it may end between two elements even where it is written to a file
}

const (
	avc    = "-c:v libx264 -preset ultrafast -pix_fmt yuv420p -bf 1 "
	mpeg4  = "-c:v mpeg4 "
	vp8    = "-c:v libvpx -deadline realtime -cpu-used 8 "
	mute   = "-an"
	dark   = "-vn "
	aac    = "-c:a aac"
	lame   = "-c:a libmp3lame"
	opus   = "-c:a libopus -ar 48000"
	vorbis = "-c:a libvorbis"
)

func pcm(names ...string) (all []string) {
	for _, n := range names {
		all = append(all, dark+"-c:a "+n)
	}
	return all
}

var kinds = []kind{
	{"matroska", "matroska", []string{avc + aac, avc + mute, dark + vorbis, mpeg4 + lame, dark + "-c:a pcm_s16le", dark + "-c:a flac"},
		[]string{"-live 1", "-cluster_size_limit 4000", "-cluster_time_limit 200", "-cues_to_front 1", "-reserve_index_space 2000", "-write_crc32 0", "-dash 1"}, false},
	{"webm", "matroska", []string{vp8 + opus, vp8 + mute, dark + opus, dark + vorbis}, []string{"-live 1", "-cluster_size_limit 3000", "-cluster_time_limit 150", "-cues_to_front 1", "-dash 1"}, false},
	{"ogg", "ogg", []string{dark + vorbis, dark + opus, dark + "-c:a flac", "-c:v libtheora " + vorbis, "-c:v libtheora " + mute},
		[]string{"-page_duration 20000", "-page_duration 500000", "-serial_offset 7"}, true},
	{"aiff", "aiff", append(pcm("pcm_s16be", "pcm_s24be", "pcm_f32be", "pcm_alaw", "pcm_s8", "pcm_s16le"), dark+"-c:a adpcm_ima_qt"), []string{"-write_id3v2 1"}, false},
	{"caf", "caf", append(pcm("pcm_s16be", "pcm_s24le", "pcm_f32le", "pcm_mulaw", "alac"), dark+opus), nil, false},
	{"au", "au", pcm("pcm_s16be", "pcm_s24be", "pcm_f64be", "pcm_alaw", "pcm_mulaw", "pcm_s8"), nil, false},
	{"wav", "wav", append(pcm("pcm_s16le", "pcm_s24le", "pcm_u8", "adpcm_ms", "adpcm_ima_wav", "pcm_alaw"), dark+lame), []string{"-rf64 always", "-write_bext 1", "-write_peak on"}, false},
	{"w64", "w64", pcm("pcm_s16le", "pcm_f32le", "pcm_u8"), nil, false},
	{"flv", "flv", []string{avc + aac, avc + mute, "-c:v flv -ar 44100 " + lame, dark + aac}, []string{"-flvflags no_duration_filesize", "-flvflags add_keyframe_index", "-flvflags no_metadata"}, true},
	{"avi", "avi", []string{mpeg4 + lame, "-c:v mjpeg -pix_fmt yuvj420p -c:a pcm_s16le", avc + mute, dark + "-c:a pcm_u8"}, []string{"-reserve_index_space 500", "-write_channel_mask 0"}, false},
	{"mpegts", "mpegts", []string{avc + aac, "-c:v mpeg2video -c:a mp2", dark + aac, avc + mute, dark + opus}, []string{"-mpegts_m2ts_mode 1", "-pes_payload_size 500", "-muxrate 3M", "-mpegts_flags latm"}, true},
	{"mpeg", "mpeg", []string{"-c:v mpeg1video -c:a mp2", "-c:v mpeg2video " + mute, dark + "-c:a mp2"}, nil, true},
	{"vob", "mpeg", []string{"-c:v mpeg2video -c:a ac3", dark + "-c:a ac3 -ar 48000"}, []string{"-packetsize 1024"}, true},
	{"asf", "asf", []string{"-c:v wmv2 -c:a wmav2", dark + "-c:a wmav2", "-c:v msmpeg4 " + mute}, []string{"-packet_size 1000"}, false},
	{"adts", "aac", []string{dark + aac}, []string{"-write_id3v2 1", "-write_apetag 1"}, true},
	{"mp4", "mov", []string{avc + aac, avc + mute, dark + aac}, []string{"-movflags frag_keyframe+empty_moov", "-movflags frag_every_frame+empty_moov+default_base_moof",
		"-movflags dash+frag_keyframe+global_sidx", "-movflags cmaf+frag_keyframe", "-movflags dash+delay_moov+frag_keyframe+skip_trailer", "-frag_duration 200000"}, true},
	{"ivf", "ivf", []string{vp8 + mute}, nil, true},
	{"obu", "obu", []string{"-c:v libsvtav1 -preset 12 " + mute}, nil, true},
	{"wv", "wv", []string{dark + "-c:a wavpack -sample_fmt s16p"}, nil, true}, // a tag may follow
	{"ac3", "ac3", []string{dark + "-c:a ac3 -ar 48000", dark + "-c:a ac3 -ar 44100", dark + "-c:a ac3 -ar 32000"}, nil, true},
	{"eac3", "eac3", []string{dark + "-c:a eac3 -ar 48000"}, nil, true},
	{"mxf", "mxf", []string{"-c:v mpeg2video -c:a pcm_s16le -ar 48000", "-c:v mpeg2video " + mute}, nil, true},
	{"dv", "dv", []string{"-c:v dvvideo -s 720x576 -pix_fmt yuv420p -c:a pcm_s16le -ar 48000 -ac 2"}, nil, true},
}

// made is a file that FFmpeg has made.
func (k *kind) made(t *testing.T, r *rand.Rand) (data []byte, how string) {
	t.Helper()
	n := k.codecs[r.IntN(len(k.codecs))]
	d := 0.2 + r.Float64()
	args := fmt.Sprintf("-f lavfi -i testsrc2=s=%dx%d:r=25:d=%.3f -f lavfi -i sine=f=%d:r=%d:d=%.3f ", 32+16*r.IntN(5), 32+16*r.IntN(4), d, 200+r.IntN(900), []int{16000, 44100, 48000}[r.IntN(3)], d)
	args += n + " -ac 2 "
	if r.IntN(2) == 0 {
		args = strings.ReplaceAll(args, "-ac 2 ", "-ac 1 ")
	}
	for _, o := range k.options {
		if r.IntN(3) == 0 {
			args += o + " "
		}
	}
	to := filepath.Join(t.TempDir(), "made")
	pipe := r.IntN(3) == 0
	if pipe {
		to = "-"
	}
	args += "-f " + k.muxer + " " + to
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "ffmpeg", append([]string{"-v", "error", "-nostdin", "-y", "-threads", "1"}, strings.Fields(args)...)...).Output()
	if err != nil {
		return nil, args // the options do not go together, or the muxer must be able to go back
	}
	if !pipe {
		if out, err = os.ReadFile(to); err != nil {
			t.Fatal(err)
		}
	}
	return out, args
}

// What FFmpeg makes is whole. A part of it is cut off, unless it ends where a live file
// may.
func TestMadeFiles(t *testing.T) {
	tier.StartsProcesses(t)
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		t.Fatal(err)
	}
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("HEADRACE_SEED"); s != "" {
		fmt.Sscan(s, &seed)
	}
	t.Logf("HEADRACE_SEED=%d", seed)
	for i := range kinds {
		k := &kinds[i]
		t.Run(k.muxer, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			for made := tier.Cases(r.IntN(3), 0); made < tier.Cases(1, 15); { // a third of them each time

				data, how := k.made(t, r)
				if len(data) == 0 || k.muxer == "mp4" && !strings.Contains(how, "frag_") {
					continue
				}
				made++
				k.try(t, r, data, how)
			}
		})
	}
}

func (k *kind) try(t *testing.T, r *rand.Rand, data []byte, how string) {
	t.Helper()
	end, err := Check(k.demuxer, bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Errorf("%s: refused: %v", how, err)
		return
	}
	behind := append(bytes.Clone(data), make([]byte, 4+r.IntN(3000))...) // of fewer the size of a box may begin
	if _, err := Check(k.demuxer, bytes.NewReader(behind), int64(len(behind))); err != nil && end != Open {
		t.Errorf("%s: with zeros after it: %v", how, err)
	}
	live := k.live || strings.HasSuffix(how, " -") || strings.Contains(how, "-live 1") || strings.Contains(how, "-write_peak")
	open := 0
	const cuts = 200
	for range cuts {
		n := 1 + r.Int64N(int64(len(data))-1)
		got, err := Check(k.demuxer, bytes.NewReader(data), n)
		switch {
		case err == nil && !live:
			t.Errorf("%s: %d of %d bytes are whole: %d", how, n, len(data), got)
			return
		case err == nil:
			open++
		case !errors.Is(err, media.ErrTruncated):
			t.Errorf("%s: %v", how, err)
		}
	}
	if open > cuts/2 && !strings.Contains(how, "pcm_") && !strings.Contains(how, "adpcm_") { // any sample of these is a boundary
		t.Errorf("%s: %d of %d cuts are boundaries", how, open, cuts)
	}
}
