def f(:
  """open
(((]]}} ''' \
 b"x" rb'y' 0x1e-5 1e-5.3 .5 := ** \