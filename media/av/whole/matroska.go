package whole

import "github.com/headrace/headrace/media/av/heads"

// matroska follows the sizes of Matroska and WebM. A segment that has one need not be
// looked into.
func matroska(f *file) (End, error) {
	end := Unknown
	live := false // the segment has no size

	for at := int64(0); at < f.Len; {
		e, junk, cut := f.Element(at)
		known := e.ID == heads.EBML || e.ID == heads.Segment || live
		switch {
		case junk || !live && !cut && !known:
			return end, nil // behind the file, or damage
		case cut && (live || end == Unknown):
			return end, f.cutHead("an element")
		case cut:
			return end, nil
		}

		switch {
		case e.ID == heads.EBML:
			live = false
		case e.ID == heads.Segment && e.End <= e.Body: // some writers leave 0 where others say that they do not know
			live, end, at = true, Open, e.Body
			continue
		case e.ID == heads.Segment:
			live, end = false, Stated
		case e.End < 0 && e.ID == heads.Cluster:
			at = e.Body
			continue
		case e.End < 0:
			return end, nil
		}
		if e.End > f.Len {
			return end, f.cut(e.Name(), e.End)
		}
		at = e.End
	}
	if end == Unknown {
		return end, f.cutHead("its segment")
	}
	return end, nil
}
