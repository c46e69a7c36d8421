# SPDX-License-Identifier: Apache-2.0
# Makes DIR/LINK point to the newest generation of a library that lies in DIR.
file(GLOB generations RELATIVE ${DIR} ${DIR}/${LINK}.*)
list(SORT generations COMPARE NATURAL)
list(FILTER generations EXCLUDE REGEX "\\.tmp")
list(GET generations -1 newest)
file(REMOVE ${DIR}/${LINK})
file(CREATE_LINK ${newest} ${DIR}/${LINK} SYMBOLIC)
