"""A reader of nested settings, "a=1;b=[c=x;d=2]", that takes anything and fails never."""


def count(data: bytes) -> int:
    depth = most = pairs = numbers = 0
    name, value, in_value = bytearray(), bytearray(), False
    for byte in data:
        if byte == 0x5B:  # [
            depth += 1
            most = max(most, depth)
            name.clear()
            in_value = False
        elif byte == 0x5D and depth:  # ]
            depth -= 1
        elif byte == 0x3D and name:  # =
            in_value = True
            value.clear()
        elif byte in (0x3B, 0x5D):  # ;
            pairs += in_value and bool(value)
            numbers += in_value and value.isdigit()
            name.clear()
            in_value = False
        elif in_value:
            value.append(byte)
        elif 0x61 <= byte <= 0x7A:
            name.append(byte)
    return pairs + numbers + most
