package eventually

// PauseAfter lets tests see how often a condition is checked.
var PauseAfter = pauseAfter
