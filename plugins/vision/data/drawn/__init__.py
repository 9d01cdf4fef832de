"""Pictures that are drawn as they are asked for: cards of digits, contours."""
