// Package observe is what a run tells about itself, as data and as text: [Stats], the
// [Report] of a profile, [Headspace], a [StallReport] and [Span].
//
// Package pipe makes these, and has all of them under the same names.
package observe
