/* The part of the whole screen that the handlers of signals use. */
#ifndef TABELLA_SCREEN_H
#define TABELLA_SCREEN_H

/* Restores the terminal if the program uses its whole screen. A handler may call it. */
void tabella_screen_restore(void);

#endif
