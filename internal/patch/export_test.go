package patch

// WriteFaulty is WriteChange with fault called before every step.
var WriteFaulty = writeWithFault
