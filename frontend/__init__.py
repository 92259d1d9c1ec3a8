"""What a browser loads: pages, styles and ES modules, served as they are. There is no Python in this room."""
