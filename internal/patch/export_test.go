package patch

// WriteFaulty is Write with fault called before every step.
var WriteFaulty = write
