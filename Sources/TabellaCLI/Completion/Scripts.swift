/// The completion scripts for shells. Each only calls `tabella complete`.
enum CompletionScript {
  static let shells = ["bash", "zsh", "fish"]

  static func text(for shell: String) -> String? {
    switch shell {
    case "bash": bash
    case "zsh": zsh
    case "fish": fish
    default: nil
    }
  }

  // The script passes the raw line, and tabella returns the text to insert with quotes. bash's own word splitting at
  // `=`, `:` and quotes differs from the arguments of a program.
  private static let bash = #"""
    # bash completion for tabella, written by `tabella completions bash`

    _tabella() {
      local program=${1/#\~\//$HOME/} lines
      mapfile -t lines < <(
        "$program" complete --bash "$COMP_WORDBREAKS" -- "${COMP_LINE:0:COMP_POINT}" 2> /dev/null
      )
      COMPREPLY=("${lines[@]:1}")
      compopt -o nosort
      case ${lines[0]-} in *nospace*) compopt -o nospace ;; esac
      case ${lines[0]-} in *files*) compopt -o default ;; esac
    }

    complete -F _tabella tabella

    """#

  private static let zsh = #"""
    #compdef tabella
    # zsh completion for tabella, written by `tabella completions zsh`

    _tabella() {
      local -a typed lines values shown
      local line space=' ' tab=$'\t' program=${(Q)words[1]}
      typed=("${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}")
      lines=("${(@f)$("${program/#\~\//$HOME/}" complete -- "${typed[@]}" 2> /dev/null)}")
      [[ $lines[1] == *nospace* ]] && space=''
      for line in "${(@)lines[2,-1]}"; do
        values+=("${line%%$tab*}")
        shown+=("${line/$tab/  -- }")
      done
      (( $#values )) && compadd -l -V tabella -S "$space" -d shown -- "${values[@]}"
      if [[ $lines[1] == *files=* ]]; then
        line=${lines[1]#*files=}
        compset -p ${line%% *}
        _files
      fi
    }

    if [[ $funcstack[1] == _tabella ]]; then _tabella "$@"; else compdef _tabella tabella; fi

    """#

  private static let fish = #"""
    # fish completion for tabella, written by `tabella completions fish`

    function __tabella_complete
        set -l words (commandline -opc)
        set -l typed (commandline -ct)
        # A quote that is still open is closed, to read what is in it.
        set -l word (string unescape -- "$typed"; or string unescape -- "$typed'"
            or string unescape -- "$typed\"")
        set -l program (string replace -r '^~/' "$HOME/" -- $words[1])
        set -l lines ($program complete -- $words[2..] "$word" 2>/dev/null)
        printf '%s\n' $lines[2..]
        set -l files (string match -rg 'files=(\d+)' -- "$lines[1]")
        if set -q files[1]
            set -l start (string sub -l $files -- "$word")
            for path in (__fish_complete_path (string sub -s (math $files + 1) -- "$word"))
                printf '%s\n' "$start$path"
            end
        end
    end

    complete -c tabella -f -k -a '(__tabella_complete)'

    """#
}
