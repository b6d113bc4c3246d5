// Package survey finds out what functions of Python give, where a recipe does not say so,
// by working on first samples ([Survey]).
package survey
