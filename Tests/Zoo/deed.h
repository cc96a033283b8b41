/*
 * A good provider except for one deed at one moment. A source defines deeds, which are functions without arguments.
 * The build chooses one by -DDEED=name -DMOMENT=rows, with -DTIME=2 for the second occurrence of the moment.
 */
#ifndef DEED_H
#define DEED_H

#include "zoo_editing.h"

#ifndef TIME
#define TIME 1
#endif
#define DEED_PASTE(a, b) a##b
#define DEED_MOMENT(moment) DEED_PASTE(zoo_in_, moment)
#define A_DEED(name) __attribute__((unused)) static void name(void)

A_DEED(DEED);

static void deed_act(enum zoo_moment moment) {
  static int times;
  if (moment == DEED_MOMENT(MOMENT) && ++times == TIME) DEED();
}

__attribute__((constructor)) static void deed_constructor(void) { deed_act(zoo_in_constructor); }
__attribute__((destructor)) static void deed_destructor(void) { deed_act(zoo_in_destructor); }

ANIMAL {
  zoo_act = deed_act;
  zoo_may_edit();
}

#endif
