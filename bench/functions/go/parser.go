// Package parser reads nested settings, "a=1;b=[c=x;d=2]"; it takes anything and fails never.
package parser

func Count(data []byte) int {
	depth, most, pairs, numbers, name, value, digits, inValue := 0, 0, 0, 0, 0, 0, 0, false
	for _, b := range data {
		switch {
		case b == '[':
			depth++
			if depth > most {
				most = depth
			}
			name, inValue = 0, false
		case b == ']' && depth > 0:
			depth--
		case b == '=' && name > 0:
			inValue, value, digits = true, 0, 0
		case b == ';' || b == ']':
			if inValue && value > 0 {
				pairs++
				if digits == value {
					numbers++
				}
			}
			name, inValue = 0, false
		case inValue:
			value++
			if b >= '0' && b <= '9' {
				digits++
			}
		case b >= 'a' && b <= 'z':
			name++
		}
	}
	return pairs + numbers + most
}
