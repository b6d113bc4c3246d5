// Package recipetest draws recipes for tests: any operation that there is, with any
// arguments, by its fields and their tags. Tests that go over operations take
// them from here instead of listing them, so that each tests a new one, too.
package recipetest
