"""What a program that is confined to the loopback interface imports at its start: this folder is on its path."""
