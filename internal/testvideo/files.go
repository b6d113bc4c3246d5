package testvideo

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/headrace/headrace/internal/tier"
)

// A recipe is the arguments of ffmpeg. Words that begin with @ are files made before.
type recipe string

const (
	pattern = "-f lavfi -i testsrc2=s=160x120:r=25:d=2 "
	sweep   = "-f lavfi -i sine=f=440:r=48000:d=2 "
	x264    = "-c:v libx264 -preset veryfast -pix_fmt yuv420p -threads 1 "
	x265    = "-c:v libx265 -preset ultrafast -pix_fmt yuv420p -tag:v hvc1 -x265-params log-level=none:pools=1:frame-threads=1:"
	again   = "-c copy "
)

// recipes are all files by name.
var recipes = map[string]recipe{
	"bpyr.mp4":    pattern + x264 + "-g 25 -bf 3",
	"onegop.mp4":  pattern + x264 + "-g 9999 -sc_threshold 0 -bf 3",
	"intra.mp4":   pattern + x264 + "-g 1",
	"g2.mp4":      pattern + x264 + "-g 2",
	"opengop.mp4": pattern + x264 + "-x264-params open-gop=1:keyint=12:min-keyint=12:bframes=3:scenecut=0",
	"refresh.mp4": pattern + x264 + "-x264-params intra-refresh=1:keyint=12",
	"hevc.mp4":    pattern + x265 + "keyint=12:min-keyint=12:open-gop=0:bframes=3:scenecut=0",
	"hevcslow.mp4": pattern + "-c:v libx265 -preset slow -pix_fmt yuv420p -tag:v hvc1 " +
		"-x265-params log-level=none:pools=1:frame-threads=1:keyint=24:scaling-list=default",
	"hevclayers.mp4": pattern + x265 + "keyint=24:temporal-layers=3:bframes=3:scenecut=0",
	"hevcopen.mp4":   pattern + x265 + "keyint=12:min-keyint=12:open-gop=1:bframes=3:scenecut=0",
	"vp9.mp4":        pattern + "-c:v libvpx-vp9 -deadline realtime -cpu-used 8 -g 12 -auto-alt-ref 1 -lag-in-frames 16 -threads 1",
	"av1.mp4":        pattern + "-c:v libsvtav1 -preset 12 -g 12",
	"mpeg4.mp4":      pattern + "-c:v mpeg4 -bf 2 -g 12",
	"mpeg2.mp4":      pattern + "-c:v mpeg2video -bf 2 -g 12",
	"mjpeg.mov":      pattern + "-c:v mjpeg",
	"prores.mov":     pattern + "-c:v prores_ks -profile:v 0 -t 0.4",
	"vfr.mp4":        "-f lavfi -i testsrc2=s=160x120:r=30:d=3 -vf select=not(mod(n\\,7))+gt(mod(n\\,5)\\,2) -vsync vfr " + x264 + "-g 20",
	"cut.mp4":        "-ss 1.3 -i @bpyr.mp4 " + again,
	"between.mp4":    "-ss 1.31 -i @bpyr.mp4 " + again,
	"ends.mp4":       "-i @bpyr.mp4 -t 1.3 " + again,
	"noedit.mp4":     "-i @bpyr.mp4 -use_editlist 0 " + again,
	"negative.mp4":   "-i @bpyr.mp4 -movflags +negative_cts_offsets -use_editlist 0 " + again,
	"front.mp4":      "-i @bpyr.mp4 -movflags +faststart " + again,
	"frag.mp4":       "-i @bpyr.mp4 -movflags +frag_keyframe+empty_moov+default_base_moof " + again,
	"fragsidx.mp4":   "-i @bpyr.mp4 -movflags +frag_keyframe+empty_moov+default_base_moof+global_sidx " + again,
	"fragedit.mp4":   "-i @bpyr.mp4 -movflags +frag_keyframe+empty_moov+delay_moov+default_base_moof " + again,
	"fragbase.mp4":   "-i @sound.mp4 -movflags +frag_keyframe+empty_moov " + again,
	"fragboth.mp4":   "-i @sound.mp4 -movflags +frag_keyframe+empty_moov+default_base_moof+separate_moof " + again,
	"rot90.mp4":      "-i @bpyr.mp4 -metadata:s:v:0 rotate=90 " + again,
	"rot180.mp4":     "-i @bpyr.mp4 -metadata:s:v:0 rotate=180 " + again,
	"rot270.mp4":     "-i @bpyr.mp4 -metadata:s:v:0 rotate=270 " + again,
	"sar.mp4":        pattern + "-vf setsar=16/11 " + x264,
	"bt709.mp4": pattern + "-vf scale=out_color_matrix=bt709:out_range=tv -colorspace " +
		"bt709 -color_primaries bt709 -color_trc bt709 -color_range tv " + x264,
	"full.mp4": pattern + "-vf scale=out_color_matrix=bt601:out_range=pc -colorspace smpte170m -color_range pc " + x264,
	"tenbit.mp4": "-f lavfi -i testsrc2=s=160x120:r=25:d=1 -pix_fmt yuv420p10le -c:v libx265 " +
		"-preset ultrafast -tag:v hvc1 -color_primaries bt2020 -color_trc smpte2084 -colorspace bt2020nc " +
		"-x265-params log-level=none:pools=1:colorprim=bt2020:transfer=smpte2084:colormatrix=bt2020nc",
	"tenavc.mp4": "-f lavfi -i testsrc2=s=160x120:r=25:d=0.4 -pix_fmt yuv420p10le -c:v libx264 -preset ultrafast",
	"interlaced.mp4": "-f lavfi -i testsrc2=s=160x128:r=50:d=2 -vf interlace=scan=tff:lowpass=0 " +
		x264 + "-flags +ilme+ildct -top 1 -bf 2 -x264-params tff=1:keyint=12",
	"weighted.mp4": pattern + "-vf fade=in:0:40 -c:v libx264 -preset slow -pix_fmt yuv420p -threads 1 -g 25 -bf 3",
	"odd.mp4":      "-f lavfi -i testsrc2=s=162x118:r=25:d=0.4 " + x264,
	"sound.mp4":    pattern + sweep + x264 + "-bf 3 -g 12 -c:a aac",
	"first.mp4":    sweep + pattern + "-map 0 -map 1 " + x264 + "-c:a aac",
	"late.mp4":     "-itsoffset 0.4 " + pattern + sweep + x264 + "-bf 3 -c:a aac",
	"mp3.mp4":      sweep + "-c:a libmp3lame",
	"opus.mp4":     sweep + "-c:a libopus",
	"flac.mp4":     sweep + "-c:a flac -strict experimental",
	"alac.m4a":     sweep + "-c:a alac",
	"ac3.mp4":      sweep + "-c:a ac3",
	"pcm.mov":      sweep + "-c:a pcm_s16le",
	"cover.jpg":    pattern + "-frames:v 1 -c:v mjpeg",
	"cover.m4a":    sweep + "-i @cover.jpg -map 0 -map 1 -c:a aac -c:v copy -disposition:v attached_pic",
	"two.mp4":      pattern + pattern + sweep + "-map 0 -map 1 -map 2 -map 2 " + x264 + "-c:a aac -metadata:s:a:0 language=deu",
	"bpyr.mkv":     "-i @bpyr.mp4 " + again,
	"opengop.mkv":  "-i @opengop.mp4 " + again,
	"hevcopen.mkv": "-i @hevcopen.mp4 " + again,
	"vfr.mkv":      "-i @vfr.mp4 " + again,
	"negative.mkv": "-ss 1.3 -i @bpyr.mp4 -avoid_negative_ts disabled " + again,
	"offset.mkv":   "-i @bpyr.mp4 -output_ts_offset 5 " + again,
	"av1.mkv":      "-i @av1.mp4 " + again,
	"vp9.webm":     "-i @vp9.mp4 " + again,
	"vp8.webm":     pattern + "-c:v libvpx -deadline realtime -cpu-used 8 -g 12 -auto-alt-ref 1 -lag-in-frames 8 -threads 1",
	"bpyr.ts":      "-i @bpyr.mp4 " + again,
	"opengop.ts":   "-i @opengop.mp4 " + again,
	"hevc.ts":      "-i @hevc.mp4 " + again,
	"mpeg2.mpg":    "-i @mpeg2.mp4 " + again,
	"mpeg4.avi":    pattern + "-c:v mpeg4 -bf 2 -g 12", // which has no times but those of decoding
	"avc.avi":      "-i @bpyr.mp4 " + again,
	"bpyr.flv":     "-i @bpyr.mp4 " + again,
	"ffv1.mkv":     pattern + "-c:v ffv1 -level 3 -t 0.4",
	"long.mp4":     "-f lavfi -i testsrc2=s=64x48:r=25:d=60 " + x264 + "-g 50 -bf 3",
}

// Names returns those of all files, in order, that end in one of some suffixes.
func Names(suffixes ...string) []string {
	var names []string
	for name := range recipes {
		if slices.ContainsFunc(suffixes, func(s string) bool { return strings.HasSuffix(name, s) }) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// File returns the path of a file, which must not be changed.
func File(t testing.TB, name string) string {
	t.Helper()
	tier.StartsProcesses(t)
	if err := prepare(); err != nil {
		t.Fatal(err)
	}
	making.Lock()
	defer making.Unlock()
	path, err := made(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Read returns the content of a file.
func Read(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(File(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

var making sync.Mutex

// prepare makes the folder. Its name changes with the recipes and with ffmpeg.
var prepare = sync.OnceValue(func() error {
	version, err := exec.Command("ffmpeg", "-version").Output()
	if err != nil {
		return fmt.Errorf("tests of video need the ffmpeg command: run scripts/install.sh ffmpeg: %w", err)
	}
	h := sha256.New()
	h.Write(version)
	for _, name := range Names("") {
		fmt.Fprintln(h, name, recipes[name])
	}
	folder = filepath.Join(os.TempDir(), fmt.Sprintf("headrace-video-%d-%x", os.Getuid(), h.Sum(nil)[:6]))
	return os.MkdirAll(folder, 0o700)
})

var folder string

func made(name string) (string, error) {
	path := filepath.Join(folder, name)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	r, ok := recipes[name]
	if !ok {
		return "", fmt.Errorf("testvideo has no file %s", name)
	}

	// Another process may be making the same: each writes its own, and the last one
	// stays.
	own, err := os.MkdirTemp(folder, "making-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(own)
	args := []string{"-hide_banner", "-loglevel", "error", "-nostdin", "-y"}
	for word := range strings.FieldsSeq(string(r)) {
		if source, ok := strings.CutPrefix(word, "@"); ok {
			if word, err = made(source); err != nil {
				return "", err
			}
		}
		args = append(args, word)
	}
	args = append(args, filepath.Join(own, name))
	if out, err := exec.Command("ffmpeg", args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("ffmpeg %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return path, os.Rename(filepath.Join(own, name), path)
}
