package steady

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/headrace/headrace/store"
)

// span is the part of an answer's body that was asked for.
type span struct {
	before int64 // bytes that come before it
	n      int   // of it, which may be fewer than were asked for
}

// mostSkipped is how much is read in vain from servers that know no ranges.
const mostSkipped = 1 << 20

// ErrNoRanges marks a server that sends objects only whole.
var ErrNoRanges = errors.New("steady: the server knows no ranges")

// spanOf checks that an answer has bytes of an object from a place on, and the object its
// size and version.
func spanOf(r *http.Response, o store.Object, version func(http.Header, int64) string, at int64, n int) (span, error) {
	size, err := sizeOf(r)
	switch {
	case err != nil:
		return span{}, err
	case size >= 0 && size != o.Size:
		return span{}, &final{fmt.Errorf("%w: it had %d bytes, and has %d", store.ErrChanged, o.Size, size)}
	}
	if now := version(r.Header, o.Size); now != o.Version {
		return span{}, &final{fmt.Errorf("%w: it was version %s, and is %s", store.ErrChanged, o.Version, now)}
	}

	// The whole object is an answer, too, as far as it is cheap to leave some of it out.
	if r.StatusCode == http.StatusOK {
		if at > mostSkipped {
			return span{}, &final{fmt.Errorf("%w: it sends the whole object instead of bytes from %d on; "+
				"copy the file to a disk, or to a server that knows ranges", ErrNoRanges, at)}
		}
		return span{at, n}, nil
	}
	first, last, _, _ := rangeOf(r.Header.Get("Content-Range")) // sizeOf has read it
	if first != at || last < first || last >= at+int64(n) {
		return span{}, fmt.Errorf("the answer has the bytes %d to %d, not %d to %d", first, last, at, at+int64(n)-1)
	}
	if has := last - first + 1; r.ContentLength >= 0 && r.ContentLength != has {
		return span{}, fmt.Errorf("the answer says that it has %d bytes, and is %d long", has, r.ContentLength)
	}
	return span{0, int(last - first + 1)}, nil
}

// sizeOf returns the size of the object in an answer; negative: it does not say.
func sizeOf(r *http.Response) (int64, error) {
	if e := r.Header.Get("Content-Encoding"); e != "" && e != "identity" && r.StatusCode == http.StatusOK {
		return 0, &final{fmt.Errorf("the answer is encoded (%s), which was not asked for: the bytes would be others", e)}
	}
	if r.StatusCode == http.StatusOK {
		return r.ContentLength, nil
	}
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind == "multipart/byteranges" {
		return 0, errors.New("the answer has several ranges, and one was asked for")
	}
	if _, total, _ := strings.Cut(r.Header.Get("Content-Range"), "/"); total == "0" {
		return 0, nil // azurite has a part of an empty blob, which ends before it begins
	}
	_, _, size, err := rangeOf(r.Header.Get("Content-Range"))
	return size, err
}

// rangeOf reads a header such as "bytes 0-99/1000"; a size of "*" is negative.
func rangeOf(text string) (first, last, size int64, err error) {
	rest, unit := strings.CutPrefix(text, "bytes ")
	span, total, slash := strings.Cut(rest, "/")
	from, to, dash := strings.Cut(span, "-")
	if first, err = strconv.ParseInt(from, 10, 64); err == nil {
		last, err = strconv.ParseInt(to, 10, 64)
	}
	if size = -1; err == nil && total != "*" {
		size, err = strconv.ParseInt(total, 10, 64)
	}
	isRange, isPart := unit && slash && dash, first >= 0 && last >= first && size != 0
	if err != nil || !isRange || !isPart {
		return 0, 0, 0, fmt.Errorf("the answer has an invalid Content-Range, %q", text)
	}
	return first, last, size, nil
}

// empty is the version of all objects without bytes, which some servers tell nothing of.
const empty = "empty"

// unknown is the version of objects whose server tells none: only their size is checked.
const unknown = "unknown"

const dated = "@" // before versions that are dates, in Unix seconds

// Version returns the version of an object in an answer: its ETag without the quotes, or
// its date.
func Version(h http.Header, size int64) string {
	tag := h.Get("ETag")
	if tag != "" {
		return TagVersion(tag, size)
	}
	at, err := http.ParseTime(h.Get("Last-Modified"))
	switch {
	case size == 0:
		return empty
	case err != nil:
		return unknown
	}
	return dated + strconv.FormatInt(at.Unix(), 10)
}

// TagVersion is [Version] of an ETag, as listings have them.
func TagVersion(tag string, size int64) string {
	if size == 0 {
		return empty
	}
	if inner := strings.TrimSuffix(strings.TrimPrefix(tag, `"`), `"`); len(inner) == len(tag)-2 {
		tag = inner
	}
	return escapes.Replace(tag) // a + joins versions
}

// VersionTag returns the ETag of a version; empty: it has none.
func VersionTag(version string) string {
	if version == "" || version == unknown || version == empty || strings.HasPrefix(version, dated) {
		return ""
	}
	return `"` + unescapes.Replace(version) + `"`
}

var (
	escapes   = strings.NewReplacer("%", "%25", "+", "%2B")
	unescapes = strings.NewReplacer("%25", "%", "%2B", "+")
)

// pin asks for one version. Answers are checked even so: not all servers know these
// headers, and a weak ETag cannot be asked for.
func pin(h http.Header, version string) {
	switch {
	case version == unknown || version == empty || strings.HasPrefix(version, "W/"):
	case strings.HasPrefix(version, dated):
		if at, err := strconv.ParseInt(version[len(dated):], 10, 64); err == nil {
			h.Set("If-Unmodified-Since", time.Unix(at, 0).UTC().Format(http.TimeFormat))
		}
	default:
		h.Set("If-Match", `"`+unescapes.Replace(version)+`"`)
	}
}
